import { chapter, type Standing } from './requirement.ts'

/** The reason for 9.2.3 and 10.3.1. */
export const AUDIENCE = {
  deviation: 'those of users; tokens of operators need no audience, as the service keys that exist have none',
}

const ONE_COMPANY = { notApplicable: 'all data belong to one company: whoever has a scope has it for all of them' }

const RIGHTS = {
  auth: { documented: 'services/auth/README.md#who-may-do-what' },
  payments: { documented: 'services/payments/README.md#who-may-do-what' },
  inventory: { documented: 'docs/reference/inventory.md#authentication' },
} as const satisfies Record<string, Standing>

/** Chapter V8: who may do what. */
export const authorization = chapter('V8 Authorization', [
  ['8.1.1', 1, 'The documentation says who may call what, on whose data', RIGHTS],
  ['8.1.2', 2, 'The documentation says who may read and write which fields', RIGHTS],
  [
    '8.2.1',
    1,
    'Calls are for those who may make them',
    {
      inventory: {
        deviation: 'everybody may call until `INVENTORY_AUTH_ENABLED` is set; from then on scopes decide',
      },
    },
  ],
  ['8.2.2', 1, 'Nobody reaches what belongs to somebody else', { inventory: ONE_COMPANY }],
  ['8.2.3', 2, 'Fields are for those who may have them', { inventory: ONE_COMPANY }],
  ['8.3.1', 1, 'The service decides, by what no client can change'],
  ['8.4.1', 2, 'Tenants are kept apart', { inventory: ONE_COMPANY }],
])

/** Chapter V9: access tokens. */
export const tokens = chapter('V9 Self-contained tokens', [
  ['9.1.1', 1, 'Signatures are verified before anything else is believed'],
  ['9.1.2', 1, 'Only listed algorithms, never none, and no key serves another algorithm than its own'],
  ['9.1.3', 1, 'Keys come from where they were configured, never from the token'],
  ['9.2.1', 1, 'Tokens hold from nbf to exp'],
  [
    '9.2.2',
    2,
    'Tokens are taken for what they are made for',
    {
      payments: {
        deviation: 'issuer, subject, end and a verified address are required; the type of a token is not asked for',
      },
      inventory: { deviation: 'issuer, audience, subject and end are required; the type of a token is not asked for' },
    },
  ],
  [
    '9.2.3',
    2,
    'Only tokens for this service',
    {
      auth: AUDIENCE,
      payments: {
        deviation: 'tokens of users for any audience are taken unless `PAYMENTS_USER_AUDIENCE` names one',
      },
    },
  ],
  [
    '9.2.4',
    2,
    'Tokens for several audiences say which one',
    {
      payments: { notApplicable: 'the service issues no access tokens' },
      inventory: { notApplicable: 'the service issues no tokens' },
    },
  ],
])
