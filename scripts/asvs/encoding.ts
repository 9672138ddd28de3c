import { chapter } from './requirement.ts'

const NO_LDAP = { notApplicable: 'no service speaks LDAP' }
const NO_XML = { notApplicable: 'the service reads no XML' }
const NO_HTML = { notApplicable: 'the only page is the documentation of the API, which shows nothing of clients' }
const NO_MAIL = { notApplicable: 'the service sends no mail' }

/** Chapter V1: injection and encoding. */
export const encoding = chapter('V1 Encoding and sanitization', [
  ['1.1.1', 2, 'Input is decoded once, before it is validated'],
  [
    '1.1.2',
    2,
    'Output is encoded where it is written',
    {
      inventory: {
        documented: 'docs/reference/inventory.md#csv-files',
        note: 'CSV is the only text it writes',
      },
    },
  ],
  ['1.2.1', 1, 'Values in HTML and in headers are encoded for their place', { inventory: NO_HTML }],
  ['1.2.2', 1, 'Values in URLs are encoded, and only safe protocols are allowed'],
  ['1.2.3', 1, 'Values in JSON and JavaScript are encoded'],
  ['1.2.4', 1, 'Database queries take values as parameters'],
  [
    '1.2.5',
    1,
    'No input becomes a command of the operating system',
    {
      notApplicable:
        'the one program that a service starts writes the documentation page, and gets no input of a client',
    },
  ],
  ['1.2.6', 2, 'LDAP injection', NO_LDAP],
  ['1.2.7', 2, 'XPath injection', { notApplicable: 'no service uses XPath' }],
  ['1.2.8', 2, 'LaTeX injection', { notApplicable: 'no service uses LaTeX' }],
  [
    '1.2.9',
    2,
    'Input in regular expressions is escaped',
    {
      notApplicable: 'no regular expression is built from input; globs and search terms have matchers of their own',
    },
  ],
  ['1.3.1', 1, 'HTML of users is sanitized', { notApplicable: 'no service accepts HTML of users' }],
  ['1.3.2', 1, 'Code is not built from input'],
  ['1.3.3', 2, 'Input for a dangerous place is limited to safe characters and a length'],
  ['1.3.4', 2, 'SVG of users is sanitized', { notApplicable: 'no service accepts images' }],
  ['1.3.5', 2, 'Markup of users is sanitized', { notApplicable: 'no service accepts markup' }],
  ['1.3.6', 2, 'Calls to other servers check the address (SSRF)'],
  [
    '1.3.7',
    2,
    'Templates are not built from input',
    { payments: { notApplicable: 'pages and mails are code' }, inventory: { notApplicable: 'there are no templates' } },
  ],
  ['1.3.8', 2, 'JNDI injection', { notApplicable: 'no service runs Java' }],
  ['1.3.9', 2, 'memcache injection', { notApplicable: 'no service uses memcache' }],
  ['1.3.10', 2, 'Format strings', { notApplicable: 'messages are constants; values are fields beside them' }],
  ['1.3.11', 2, 'Input in mails cannot add headers', { inventory: NO_MAIL }],
  ['1.4.1', 2, 'Memory-safe strings', { notApplicable: 'JavaScript manages memory' }],
  ['1.4.2', 2, 'Numbers have ranges, so that none overflows'],
  ['1.4.3', 2, 'Memory is released', { notApplicable: 'JavaScript manages memory' }],
  ['1.5.1', 1, 'XML parsers resolve no external entities', { auth: NO_XML, inventory: NO_XML }],
  ['1.5.2', 2, 'Deserialization makes no objects of other types'],
])
