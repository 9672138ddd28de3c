import { chapter } from './requirement.ts'

const DATA = { documented: 'SECURITY.md#data' }
const DEPENDENCIES = { documented: 'SECURITY.md#dependencies' }
const NO_SESSION = {
  notApplicable:
    'no page has a session; `/docs` forgets credentials when it closes; the client’s own storage is the client’s',
}

/** Chapter V14: sensitive data. */
export const dataProtection = chapter('V14 Data protection', [
  ['14.1.1', 2, 'Sensitive data are listed by level', DATA],
  ['14.1.2', 2, 'Each level of sensitivity has documented rules', DATA],
  [
    '14.2.1',
    1,
    'URLs contain no secrets',
    {
      auth: {
        deviation: 'links in mails contain a token, and the implicit flow puts a session into the fragment',
        strict: 'no session in a fragment; links in mails still contain a token, which works once',
        isPartial: true,
      },
      payments: {
        deviation:
          'links of invitations contain a token, and links of receipts their content, sealed, because both are opened from other devices',
      },
      inventory: { notApplicable: 'URLs contain only ids, filters and pages' },
    },
  ],
  ['14.2.2', 2, 'Proxies and caches store no sensitive data'],
  ['14.2.3', 2, 'Nothing is sent to trackers or other third parties'],
  ['14.2.4', 2, 'The rules of each level are followed'],
  [
    '14.3.1',
    1,
    'Clients delete sensitive data when a session ends',
    {
      auth: NO_SESSION,
      inventory: NO_SESSION,
      payments: {
        notApplicable:
          'no page has a session; `/docs` forgets credentials when it closes; the one cookie of payment pages ends after half an hour',
      },
    },
  ],
  [
    '14.3.2',
    2,
    'Browsers cache no sensitive data',
    {
      inventory: {
        deviation:
          'answers with an `ETag` (single products, locations and levels) are `no-cache`: browsers store them, and revalidate before each use; all others are `no-store`',
      },
    },
  ],
  ['14.3.3', 2, 'Browsers store nothing sensitive'],
])

/** Chapter V15: dependencies, races and expensive work. */
export const architecture = chapter('V15 Secure coding and architecture', [
  ['15.1.1', 1, 'The documentation says how soon vulnerable dependencies are updated', DEPENDENCIES],
  ['15.1.2', 2, 'Dependencies are listed (SBOM)', { documented: 'CONTRIBUTING.md#releases' }],
  [
    '15.1.3',
    2,
    'The documentation names expensive functions and their limits',
    { documented: 'SECURITY.md#expensive-requests' },
  ],
  ['15.2.1', 1, 'Dependencies are as recent as documented', DEPENDENCIES],
  ['15.2.2', 2, 'Expensive functions are limited'],
  [
    '15.2.3',
    2,
    'Production contains no test or sample code',
    { documented: 'README.md#in-containers', note: 'images hold no tests, examples or development tools' },
  ],
  ['15.3.1', 1, 'Answers contain selected fields, not whole rows'],
  ['15.3.2', 2, 'Calls to other servers follow no redirects'],
  ['15.3.3', 2, 'Clients cannot set fields that the API does not let them set'],
  ['15.3.4', 2, 'The address of a client comes from trusted proxies'],
  ['15.3.5', 2, 'Values are checked for their type'],
  ['15.3.6', 2, 'Input cannot reach prototypes'],
  ['15.3.7', 2, 'Repeated parameters do no harm'],
])
