-- claim: the short way for plain evidence gives the bytes of the long one, also in a session that reads literals the old way.
do $claim$
declare
  v_values constant jsonb := '[{}, {"a": "b"}, {"a": true}, {"a": null}, {"a": 1.0}, {"a": []}, {"a": {"c": 1, "b": 2}}, {"b": 1, "a": 2}, {": ": "} \"{"},
    {"\\\\": "\\\\"}, {"": ""}, {"a\u00e9": "\ud83d\ude00"}, {"a": "x\ny: z"},
    {": ": "x"}, {": ": ": "}, {"a": ": "}, {"": ": "}, {"a": "b", "c": "d"}, {"a": ["b"]}, {"a": {"b": "c"}}, {"a": "} {"}, {":": " "}, ["a", "b"], "a", 5, null]';
  v_old_way text;
begin
  foreach v_old_way in array array['on', 'off'] loop
    perform set_config('standard_conforming_strings', v_old_way, true);
    perform t.equal(internal.canonical_evidence(v.value, v.value::text), internal.canonical_json(v.value)) from jsonb_array_elements(v_values) v;
  end loop;
end
$claim$;
