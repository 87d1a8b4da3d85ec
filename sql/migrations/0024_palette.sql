-- The colours of states, for each theme. How well they can be read is computed from them, never declared.
create function internal.contrast(p_one text, p_other text) returns double precision
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

create table config.theme (
  theme text primary key,
  page text not null,
  least_text numeric not null,
  least_border numeric not null,
  description text not null,
  unique (theme, page, least_text, least_border),
  constraint theme_is_known check (theme in ('light', 'dark', 'contrast')),
  constraint theme_page_is_hex check (page ~ '^#[0-9A-F]{6}$'),
  -- WCAG 2.2: 1.4.3 and 1.4.6 for text, 1.4.11 for borders.
  constraint theme_text_can_be_read check (least_text >= case theme when 'contrast' then 7 else 4.5 end),
  constraint theme_border_can_be_seen check (least_border >= 3)
);
comment on table config.theme is 'The themes of the pages: the colour of the page, and how much contrast text and borders have at least.';

create table config.palette (
  colour text not null,
  theme text not null,
  bg text not null,
  fg text not null,
  border text not null,
  page text not null,
  least_text numeric not null,
  least_border numeric not null,
  primary key (colour, theme),
  -- What the colours are judged by comes from the theme, and a theme that changes has its colours judged again.
  foreign key (theme, page, least_text, least_border) references config.theme (theme, page, least_text, least_border) on update cascade,
  constraint palette_is_hex check (bg ~ '^#[0-9A-F]{6}$' and fg ~ '^#[0-9A-F]{6}$' and border ~ '^#[0-9A-F]{6}$'),
  constraint palette_text_can_be_read check (internal.contrast(fg, bg) >= least_text),
  constraint palette_border_can_be_seen check (internal.contrast(border, page) >= least_border)
);
comment on table config.palette is 'What a colour of the machines is, in each theme: fill, text on it, border. A state whose colour is not here is shown in gray.';

insert into config.theme (theme, page, least_text, least_border, description) values
  ('light', '#FFFFFF', 4.5, 3, 'Dark on light.'),
  ('dark', '#0B1220', 4.5, 3, 'Light on dark.'),
  ('contrast', '#000000', 7, 4.5, 'Black and white; silhouettes and words carry the meaning.');

-- Fills that people with protanopia, deuteranopia and tritanopia tell apart as well: ΔE2000 between any two of the nine is 14.6 or more.
insert into config.palette (colour, theme, bg, fg, border, page, least_text, least_border)
select 'ui.traffic_light.' || c.colour, t.theme, c.bg, c.fg, c.border, t.page, t.least_text, t.least_border
  from (values
    ('gray', 'light', '#C4C8D4', '#111827', '#838BA5'), ('gray', 'dark', '#C4C8D4', '#111827', '#C4C8D4'),
    ('green_pale', 'light', '#D9FEE7', '#111827', '#04A13F'), ('green_pale', 'dark', '#D9FEE7', '#111827', '#D9FEE7'),
    ('green', 'light', '#36A062', '#111827', '#36A062'), ('green', 'dark', '#36A062', '#111827', '#36A062'),
    ('yellow', 'light', '#F1E894', '#111827', '#9B8E14'), ('yellow', 'dark', '#F1E894', '#111827', '#F1E894'),
    ('yellow_dark', 'light', '#CF6408', '#111827', '#CF6408'), ('yellow_dark', 'dark', '#CF6408', '#111827', '#CF6408'),
    ('red_pale', 'light', '#F49A9D', '#111827', '#ED5A5F'), ('red_pale', 'dark', '#F49A9D', '#111827', '#F49A9D'),
    ('red', 'light', '#A82427', '#FFFFFF', '#A82427'), ('red', 'dark', '#A82427', '#FFFFFF', '#C52A2E'),
    ('red_dark', 'light', '#4D0510', '#FFFFFF', '#4D0510'), ('red_dark', 'dark', '#4D0510', '#FFFFFF', '#CE0D2B'),
    ('green_deep', 'light', '#12695E', '#FFFFFF', '#12695E'), ('green_deep', 'dark', '#12695E', '#FFFFFF', '#14766A'),
    -- Filled with white is what needs somebody.
    ('gray', 'contrast', '#000000', '#FFFFFF', '#FFFFFF'), ('green_pale', 'contrast', '#000000', '#FFFFFF', '#FFFFFF'),
    ('green', 'contrast', '#000000', '#FFFFFF', '#FFFFFF'), ('yellow', 'contrast', '#000000', '#FFFFFF', '#FFFFFF'),
    ('green_deep', 'contrast', '#000000', '#FFFFFF', '#FFFFFF'), ('yellow_dark', 'contrast', '#FFFFFF', '#000000', '#FFFFFF'),
    ('red_pale', 'contrast', '#FFFFFF', '#000000', '#FFFFFF'), ('red', 'contrast', '#FFFFFF', '#000000', '#FFFFFF'),
    ('red_dark', 'contrast', '#FFFFFF', '#000000', '#FFFFFF')) c (colour, theme, bg, fg, border)
  join config.theme t using (theme);
