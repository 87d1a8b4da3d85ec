-- claim: members are ordered by UTF-16 code units, which is not the order of bytes beyond the basic plane.
select t.equal(internal.canonical_json('{"\uffff": 1, "\ud83d\ude00": 2, "\ue000": 3, "z": 4, "": 5, "\u00e9": 6}'),
               U&'{"":5,"z":4,"\00e9":6,"\+01F600":2,"\e000":3,"\ffff":1}');
