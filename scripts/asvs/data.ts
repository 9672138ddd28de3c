import { chapter } from './requirement.ts'

const DATA = { documented: 'SECURITY.md#data' }
const DEPENDENCIES = { documented: 'SECURITY.md#dependencies' }
const CLIENTS_STORE = { notApplicable: 'what clients keep is theirs; the service stores nothing in browsers' }

/** Chapter V14: sensitive data. */
export const dataProtection = chapter('V14 Data protection', [
  ['14.1.1', 2, 'Sensitive data are listed by level', DATA],
  ['14.1.2', 2, 'Each level has its rules', DATA],
  [
    '14.2.1',
    1,
    'No secrets in URLs',
    {
      auth: {
        deviation: 'links in mails carry their token, and the implicit flow carries a session in the fragment',
        strict: 'no session in a fragment; links of mails still carry a token, which works once',
        isPartial: true,
      },
      payments: {
        deviation:
          'links of invitations carry their token, and receipts what they show, sealed: people open both from elsewhere',
      },
      inventory: { notApplicable: 'URLs hold ids, filters and pages alone' },
    },
  ],
  ['14.2.2', 2, 'Proxies and caches keep no sensitive data'],
  ['14.2.3', 2, 'Nothing goes to trackers and other strangers'],
  ['14.2.4', 2, 'The rules of each level hold'],
  [
    '14.3.1',
    1,
    'Clients forget what they were shown when a session ends',
    {
      auth: CLIENTS_STORE,
      inventory: CLIENTS_STORE,
      payments: { notApplicable: 'payment pages have no session; their one cookie ends after half an hour' },
    },
  ],
  [
    '14.3.2',
    2,
    'Browsers cache no sensitive data',
    {
      inventory: {
        deviation:
          'answers with an `ETag` (single products, locations and levels) are `no-cache`: browsers keep them, and ask before they use them; all others are `no-store`',
      },
    },
  ],
  ['14.3.3', 2, 'Browsers store nothing sensitive', { auth: CLIENTS_STORE, inventory: CLIENTS_STORE }],
])

/** Chapter V15: dependencies, races and expensive work. */
export const architecture = chapter('V15 Secure coding and architecture', [
  ['15.1.1', 1, 'The documentation says how soon dependencies are mended', DEPENDENCIES],
  ['15.1.2', 2, 'Dependencies are listed (SBOM)', { documented: 'CONTRIBUTING.md#releases' }],
  [
    '15.1.3',
    2,
    'The documentation names what is expensive, and what bounds it',
    { documented: 'SECURITY.md#expensive-requests' },
  ],
  ['15.2.1', 1, 'Dependencies are as recent as documented', DEPENDENCIES],
  ['15.2.2', 2, 'What is expensive is bounded'],
  [
    '15.2.3',
    2,
    'Production has nothing that only tests and samples need',
    { documented: 'README.md#in-containers', note: 'images hold no tests, examples or development tools' },
  ],
  ['15.3.1', 1, 'Answers have the fields that they need, and no whole rows'],
  ['15.3.2', 2, 'Calls to other servers follow no redirects'],
  ['15.3.3', 2, 'Clients cannot set fields that are not theirs'],
  ['15.3.4', 2, 'The address of a client is what trusted proxies say'],
  ['15.3.5', 2, 'Values have the type that is expected'],
  ['15.3.6', 2, 'Input cannot reach prototypes'],
  ['15.3.7', 2, 'A parameter that comes twice does no harm'],
])
