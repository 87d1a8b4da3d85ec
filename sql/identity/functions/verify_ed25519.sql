-- promise: whether this is the ed25519 signature of this text by this key, judged as strictly as it can be: what `verify_strict` of
--          ed25519-dalek says, and besides no key but in the one encoding of its point. Null and malformed bytes are simply not good.
-- callers: identity.require_signature
--
-- s·B - k·A has to be R, with k the SHA-512 of R, key and text (RFC 8032, 5.1.7). Both products are made together, four bits at a time, in
-- extended coordinates (Hisil and others, 2008). There is no modulo in it: a product times the inverse of p, truncated, says how often p goes into
-- it, which is three times faster than the division and leaves a rest between -1.1p and 1.1p. Sums of such rests may be multiplied once
-- more before the 156 places of the inverse are too few. Numbers in the comments are measured in docs/decisions/0031-the-database-verifies-signatures.md.
create or replace function identity.verify_ed25519(p_public_key bytea, p_message bytea, p_signature bytea) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  c_p constant numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
  c_inverse constant numeric := 0.000000000000000000000000000000000000000000000000000000000000000000000000000017272337110188889250772703725600799142232000728872562770047406940337183606330522;
  c_order constant numeric := 7237005577332262213973186563042994240857116359379907606001950938285454250989;
  c_2d constant numeric := 16295367250680780974490674513165176452449235426866156013048779062215315747161;
  -- 0·B to 15·B: y + x, y - x and 2dxy of each.
  c_base_plus constant numeric[] := '{
    1,
    3533012425803781230144052908719740726127014226477800802100354883158534798213,
    40277088815386731178907243282125131086172340233842699037233503275583876657623,
    55221577242988382633613921715755988927347615506430221002982523990194636363568,
    47066272949236454352011004142637614054391928395550853467619416848609482377631,
    18668153700450365046820768141064729913722721519882092422277400263756282706739,
    37042802551734379291256774445515883653807489140754236673331271591307945275697,
    31711222115254622247534096269438047277815809670749515453120456498656435938239,
    4109516327463731527202515788904111257973980123418119937409388067227422244495,
    23848771936779537706600755363852330642691035199144679981329841599443567665967,
    30609674052685047311831346338605073581078547820892333461650941490864542741646,
    30060548511792857161490863918616842674472112613249574336675186204794201058014,
    3411228640615201593234277180834067581715042669240314802207361026346505368889,
    15972020931028765202356936322618908365444234765594279114894468132403870203757,
    50064278954418890659789852187370461481907455845210956007386367807641746488818,
    44273937366294891980395583359278962421509549251851624370413480066653195594400}';
  c_base_minus constant numeric[] := '{
    1,
    31204614345391077396927242593886631629853981173214368409736920319215404093758,
    48718306963831746885583586643117907343561796231867704143509447914497974261160,
    19324154932736603031152325029326367275890211278985171650228672434569381466725,
    17900364484490481448458662452751610416972167276715128949046668595979264465087,
    9630189248235390748103966146409333440210333639383242876188677650069613696698,
    25651611989922745009643932709203732449918896997826911000855036222734883196068,
    13312953584136576304523025463821328163824699951717010248032899908581467496881,
    26488824003848812422096153829220076970185472332004006092782020751874174629081,
    33358695950361614583925271808519256405884421684945271723330695989338484605028,
    1504492174856489451374794699346997269845831270992267247083208067962561921501,
    11158256924779282454740543163093780811298074430862908234953982287139410690888,
    54883438445804607881160211470067280624272200715800604275677728380000241800377,
    1087550798001203620797136749953957393762725578137024723030949917728262045587,
    20779737686284910179334818210128964709826169575479908456545917163860722651776,
    30626176813774521173184229023175236149481611499753231178919926386272687148811}';
  c_base_2dt constant numeric[] := '{
    0,
    50237614328228664512531835696112167678046477356841409204013502641986506238568,
    50706672771372854810760959653406682044345679494001682866047262582014706678367,
    40779097241408971452228116607583414735230162954196233009433085899742953658505,
    57721214740011996325100163914057143626378515005646177755397197794928900898569,
    30606639029984443449548711300126286734648431208933888345371544935567354135173,
    7563714261859060042956946782859995083128379099304074101372873478829756795761,
    55464387603073125013932436385527479500842401496857817399907801729203523072930,
    17443172525282717937484496621620514525016940174535744246793836220237314429210,
    52357765926424945578408752779084598596693712112103136963171288052321514532635,
    6682512062439074615966318862147353381595721867379348902460072991636688271576,
    27941507066570052986778351271715755022397500567158991111890716087464763623913,
    25228181748214841844201962835378437440771752859291933385683627475999581816147,
    33237312664213247073394209876351444910698636488186827598268510754927446762360,
    16621601598830979599686493639147571948420897447964887531103995509716861983618,
    36689249660344293493892821654230283378144754582372867911177117475716794987798}';
  -- The ordinates of the eight points of small order.
  c_small_order constant numeric[] := '{
    0,
    1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
    57896044618658097711785492504343953926634992332820282019728792003956564819948}';
  v_point numeric[];
  -- 0·(-A) to 15·(-A): the same, and 2z.
  v_plus numeric[] := '{1}';
  v_minus numeric[] := '{1}';
  v_2dt numeric[] := '{0}';
  v_2z numeric[] := '{2}';
  v_k numeric;
  v_digits integer[];
  v_four integer;
  v_byte integer;
  v_digit integer;
  x numeric := 0;
  y numeric := 1;
  z numeric := 1;
  t numeric := 0;
  a numeric;
  b numeric;
  c numeric;
  d numeric;
  e numeric;
  f numeric;
  g numeric;
  h numeric;
begin
  if p_message is null or octet_length(p_signature) is distinct from 64
     or identity.ed25519_number(substr(p_signature, 33)) >= c_order then
    return false;
  end if;
  v_point := identity.ed25519_point(p_public_key);
  if v_point is null then
    return false;
  end if;

  -- The digits of k, sixteen bits at a time.
  v_k := identity.ed25519_number(sha512(substr(p_signature, 1, 32) || p_public_key || p_message)) % c_order;
  for i in 0 .. 15 loop
    v_four := v_k % 65536;
    v_k := div(v_k, 65536);
    v_digits := v_digits || array[v_four & 15, v_four >> 4 & 15, v_four >> 8 & 15, v_four >> 12];
  end loop;

  -- The multiples of -A, each the one before plus -A, whose z is 1.
  a := v_point[2] - v_point[1];
  b := v_point[2] + v_point[1];
  c := (v_point[1] * v_point[2]) - trunc((v_point[1] * v_point[2]) * c_inverse) * c_p;
  c := -(c * c_2d - trunc(c * c_2d * c_inverse) * c_p);
  for i in 1 .. 15 loop
    e := (y - x) * b - trunc((y - x) * b * c_inverse) * c_p;
    h := (y + x) * a - trunc((y + x) * a * c_inverse) * c_p;
    f := t * c - trunc(t * c * c_inverse) * c_p;
    g := 2 * z + f;
    f := 2 * z - f;
    d := h - e;
    h := h + e;
    x := d * f - trunc(d * f * c_inverse) * c_p;
    y := g * h - trunc(g * h * c_inverse) * c_p;
    t := d * h - trunc(d * h * c_inverse) * c_p;
    z := f * g - trunc(f * g * c_inverse) * c_p;
    v_plus := v_plus || (y + x);
    v_minus := v_minus || (y - x);
    v_2dt := v_2dt || (t * c_2d - trunc(t * c_2d * c_inverse) * c_p);
    v_2z := v_2z || (2 * z);
  end loop;

  x := 0;
  y := 1;
  z := 1;
  t := 0;
  for i in reverse 63 .. 0 loop
    for j in 1 .. 4 loop
      a := x * x - trunc(x * x * c_inverse) * c_p;
      b := y * y - trunc(y * y * c_inverse) * c_p;
      c := 2 * z * z - trunc(2 * z * z * c_inverse) * c_p;
      e := 2 * x * y - trunc(2 * x * y * c_inverse) * c_p;
      g := b - a;
      f := g - c;
      h := -a - b;
      x := e * f - trunc(e * f * c_inverse) * c_p;
      y := g * h - trunc(g * h * c_inverse) * c_p;
      z := f * g - trunc(f * g * c_inverse) * c_p;
    end loop;
    t := e * h - trunc(e * h * c_inverse) * c_p;
    v_digit := v_digits[i + 1] + 1;
    if v_digit > 1 then
      a := (y - x) * v_minus[v_digit] - trunc((y - x) * v_minus[v_digit] * c_inverse) * c_p;
      b := (y + x) * v_plus[v_digit] - trunc((y + x) * v_plus[v_digit] * c_inverse) * c_p;
      c := t * v_2dt[v_digit] - trunc(t * v_2dt[v_digit] * c_inverse) * c_p;
      d := z * v_2z[v_digit] - trunc(z * v_2z[v_digit] * c_inverse) * c_p;
      e := b - a;
      f := d - c;
      g := d + c;
      h := b + a;
      x := e * f - trunc(e * f * c_inverse) * c_p;
      y := g * h - trunc(g * h * c_inverse) * c_p;
      t := e * h - trunc(e * h * c_inverse) * c_p;
      z := f * g - trunc(f * g * c_inverse) * c_p;
    end if;
    v_byte := get_byte(p_signature, 32 + i / 2);
    v_digit := case when i % 2 = 0 then v_byte & 15 else v_byte >> 4 end + 1;
    if v_digit > 1 then
      a := (y - x) * c_base_minus[v_digit] - trunc((y - x) * c_base_minus[v_digit] * c_inverse) * c_p;
      b := (y + x) * c_base_plus[v_digit] - trunc((y + x) * c_base_plus[v_digit] * c_inverse) * c_p;
      c := t * c_base_2dt[v_digit] - trunc(t * c_base_2dt[v_digit] * c_inverse) * c_p;
      d := 2 * z;
      e := b - a;
      f := d - c;
      g := d + c;
      h := b + a;
      x := e * f - trunc(e * f * c_inverse) * c_p;
      y := g * h - trunc(g * h * c_inverse) * c_p;
      z := f * g - trunc(f * g * c_inverse) * c_p;
    end if;
  end loop;

  -- 1/z = (z^(2^252 - 3))^8 · z³. The bytes of a point are y, and whether x is odd in the highest bit.
  a := identity.ed25519_power(z);
  a := a * a % c_p;
  a := a * a % c_p;
  a := a * a % c_p * z % c_p * z % c_p * z % c_p;
  x := (x * a % c_p + c_p) % c_p;
  y := (y * a % c_p + c_p) % c_p;
  return y <> all (c_small_order)
     and y + case when x % 2 = 1 then 57896044618658097711785492504343953926634992332820282019728792003956564819968 else 0 end
         = identity.ed25519_number(substr(p_signature, 1, 32));
end
$$;
