-- claim: the text has no blank that carries no meaning and no escape that is not needed.
select t.equal(internal.canonical_json(' { "b" : [ 1 , { } , [ ] , null , true ] , "a" : "\u0041\/\u00e9" } '),
               U&'{"a":"A/\00e9","b":[1,{},[],null,true]}');
select t.equal(internal.canonical_json('"\u0007\u001F\b\t"'), '"\u0007\u001f\b\t"');
