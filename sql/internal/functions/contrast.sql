-- owner: chancery_owner
-- promise: the contrast of two colours (#RRGGBB) as WCAG 2.2 computes it, from 1 to 21. Constraints are made of it: what it says of a pair never changes.
create or replace function internal.contrast(p_one text, p_other text) returns double precision
language sql immutable strict parallel safe
as $$
  select (greatest(l.one, l.other) + 0.05) / (least(l.one, l.other) + 0.05)
    from (select max(x.luminance) filter (where x.n = 1) as one, max(x.luminance) filter (where x.n = 2) as other
            from (select c.n, sum(w.weight * case when w.part <= 0.04045 then w.part / 12.92 else power((w.part + 0.055) / 1.055, 2.4) end) as luminance
                    from (values (1, p_one), (2, p_other)) c (n, hex)
                    cross join lateral (
                      select k.weight, get_byte(decode(substr(c.hex, 2), 'hex'), k.byte) / 255.0::double precision as part
                        from (values (0, 0.2126::double precision), (1, 0.7152), (2, 0.0722)) k (byte, weight)) w
                   group by c.n) x) l
$$;
