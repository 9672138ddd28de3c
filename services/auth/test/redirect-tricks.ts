/** The host of SITE_URL in tests that use these addresses. */
export const SITE_HOST = 'app.example.com'
const EVIL = 'evil.test'

/** Characters between a permitted and a malicious host that parsers interpret differently. */
const BETWEEN = [
  ...'@ \\ \\@ /@ ;@ :@ &@ %40 %2540 @@ #@ ?@ # ? / : ; & $ + ! * ( ) , = ~ _ - . .. ... %2f %2F %5c %5C %23 %3f %3a'.split(
    ' ',
  ),
  ...'%00 %09 %0a %0d %0d%0a %20 %252f %25 %2e %2e%2e %e3%80%82 %ef%bc%8f %u2215 。 ． ｡ ／ ＠ ： ？ ＃ ＼ ⁄ ∕ ‥'.split(
    ' ',
  ),
  ...['\u0000', '\t', '\n', '\r', '\r\n', ' ', '\u00a0', '\u2028', '\u200b', '\u00ad', '\ufeff', '\u007f', '\u0085'],
  ...[':pw@', ':443@', ':80#@', '.com@', '[@', ']@', '[', '%5b', '"', "'", '<', '>', '`', '{', '|', '^'],
]

/** Prefixes that a browser may interpret as an address of another host. */
const BEGINNINGS = [
  ...'// /// //// \\\\ /\\ \\/ \\ http: https: http:/ https:/ http:/// https:/// https://// https:\\ https:\\\\'.split(
    ' ',
  ),
  ...'https:/\\ https://\\ https://; https://: https://@ https://.@ https://@@ https://:@ https://%40 https://? https://#'.split(
    ' ',
  ),
  ...'hTTpS:// HTTP:// http://// https://%2f https://%5c https://%09 %68ttps:// https%3a// https:%2f%2f //%09/ /%09/ /%5c'.split(
    ' ',
  ),
  ...'/.// ./// ..// ;// .// ?// #// *// ws:// wss:// ftp:// gopher:// ssh:// ldap:// intent:// market:// chrome://'.split(
    ' ',
  ),
  ...['\t//', '\n//', '\r\n//', ' //', '\u0000//', '\u00a0//', '\ufeff//', ' https://', '\thttps://', '\nhttps://'],
  ...['ht\ntps://', 'https\t://', 'https:\t//', 'https:/\n/', '\u0001https://', '\u2028//', '〱//', '〵//', 'ゝ//'],
]

/** Schemes that run code, read files or leave the web. */
const SCHEMES = [
  ...'javascript data vbscript file about blob JaVaScRiPt javascript%3a view-source jar filesystem livescript mocha'.split(
    ' ',
  ),
  ...['java\tscript', 'java\nscript', ' javascript', '\u0001javascript', 'javascript\u0000', 'javascript\t'],
].flatMap((scheme) => [`${scheme}:alert(1)`, `${scheme}://${SITE_HOST}/%0aalert(1)`])

/** Numbers and addresses as hosts. */
const ADDRESSES = [
  ...'2130706433 0x7f000001 017700000001 0177.0.0.1 0x7f.1 127.1 127.0.1 0 0.0.0.0 10.0.0.1 192.168.0.1 172.16.0.1'.split(
    ' ',
  ),
  ...'169.254.169.254 0xa9fea9fe 2852039166 100.64.0.1 224.0.0.1 255.255.255.255 8.8.8.8 134744072 127.0.0.1.'.split(
    ' ',
  ),
  ...'[::] [::ffff:127.0.0.1] [::ffff:7f00:1] [fe80::1] [fd00:ec2::254] [2001:db8::1] [::1%25eth0] ①②⑦.⓪.⓪.① 127。0。0。1'.split(
    ' ',
  ),
].map((host) => `https://${host}/`)

/** Malicious addresses that contain a permitted one, and line breaks that would start another header. */
const DECOYS = [
  `https://${EVIL}/https://${SITE_HOST}`,
  `https://${EVIL}/?next=https://${SITE_HOST}`,
  `https://${EVIL}/#https://${SITE_HOST}`,
  `https://${EVIL}/${SITE_HOST}`,
  `https://${SITE_HOST}.${EVIL}`,
  `https://${SITE_HOST}${EVIL}`,
  `https://evil-${SITE_HOST}`,
  `https://sub.${SITE_HOST}`,
  `https://${SITE_HOST}.`,
  `https://${SITE_HOST}:@${EVIL}`,
  `https://${SITE_HOST}:99999/`,
  `http://${SITE_HOST}/`,
  `https://${SITE_HOST}/\r\nLocation: https://${EVIL}`,
  `https://${SITE_HOST}/%0d%0aLocation:%20https://${EVIL}`,
  `https://${SITE_HOST}/\r\n\r\n<script>alert(1)</script>`,
  `https://a.b.preview.example.com/`,
  `https://preview.example.com/`,
  `https://${EVIL}.preview.example.com.${EVIL}/`,
  `https://${EVIL}/.preview.example.com`,
  `https://${EVIL}?.preview.example.com`,
  `https://${EVIL}#.preview.example.com`,
  `https://${EVIL}:443.preview.example.com`,
  `https://${EVIL}\\.preview.example.com`,
  `https://${EVIL}%2f.preview.example.com`,
  `https://docs.example.com/a/b`,
  `https://docs.example.com/../../@${EVIL}`,
  `https://docs.example.com@${EVIL}/a`,
  `myapp://${EVIL}@callback`,
  `myapp:${EVIL}`,
  `myapp:///callback`,
  `myapps://callback`,
]

/** More than 300 addresses that try to escape the hosts of a policy. */
export const REDIRECT_TRICKS: readonly string[] = [
  ...new Set([
    ...BETWEEN.flatMap((between) => [`https://${SITE_HOST}${between}${EVIL}`, `https://${EVIL}${between}${SITE_HOST}`]),
    ...BEGINNINGS.flatMap((beginning) => [`${beginning}${EVIL}`, `${beginning}${EVIL}/@${SITE_HOST}`]),
    ...SCHEMES,
    ...ADDRESSES,
    ...DECOYS,
  ]),
]
