-- claim: the outputs that a path names are found, each once, and any other use of outputs is told apart.
select t.equal(workflow.named_outputs('$.inputs.amount > 3')::text, '{}');
select t.equal(workflow.named_outputs('$.outputs.b.x == 1 && $.outputs.a_1.y == $.outputs.b.z')::text, '{a_1,b}');
select t.equal(workflow.named_outputs('exists($.outputs.survey.findings[*] ? (@.severity == "high"))')::text, '{survey}');
select t.equal(workflow.named_outputs('$.outputs[*].x == 1')::text, null), t.equal(workflow.named_outputs('$.outputs.* == 1')::text, null),
       t.equal(workflow.named_outputs('$.outputs.a.x == 1 && exists($.outputs)')::text, null), t.equal(workflow.named_outputs('$."outputs".a == 1')::text, null);
