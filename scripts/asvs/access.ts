import { chapter, type Standing } from './requirement.ts'

/** The reason for 9.2.3 and 10.3.1. */
export const AUDIENCE = {
  deviation:
    'checked for tokens of users; tokens of operators need no audience, because existing service keys have none',
}

const ONE_COMPANY = { notApplicable: 'all data belong to one company, so a scope is valid for all of them' }

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
    'Callers can only use functions that they have rights to',
    {
      inventory: {
        deviation: 'everybody may call until `INVENTORY_AUTH_ENABLED` is set; then scopes decide',
      },
    },
  ],
  ['8.2.2', 1, 'Callers cannot reach the data of others', { inventory: ONE_COMPANY }],
  ['8.2.3', 2, 'Callers can only read and write fields that they have rights to', { inventory: ONE_COMPANY }],
  ['8.3.1', 1, 'The service checks rights by data that no client can change'],
  ['8.4.1', 2, 'Tenants are kept apart', { inventory: ONE_COMPANY }],
])

/** Chapter V9: access tokens. */
export const tokens = chapter('V9 Self-contained tokens', [
  ['9.1.1', 1, 'Signatures are verified before the content of a token is used'],
  ['9.1.2', 1, 'Only listed algorithms are allowed, never `none`, and each key works with one algorithm'],
  ['9.1.3', 1, 'Keys come from configured places, never from the token'],
  ['9.2.1', 1, 'Tokens are valid from nbf to exp'],
  [
    '9.2.2',
    2,
    'Tokens are accepted only for their purpose',
    {
      payments: {
        deviation: 'issuer, subject, expiry and a verified address are required; the type of a token is not checked',
      },
      inventory: { deviation: 'issuer, audience, subject and expiry are required; the type of a token is not checked' },
    },
  ],
  [
    '9.2.3',
    2,
    'Only tokens for this service are accepted',
    {
      auth: AUDIENCE,
      payments: {
        deviation: 'tokens of users for any audience are accepted unless `PAYMENTS_USER_AUDIENCE` names one',
      },
    },
  ],
  [
    '9.2.4',
    2,
    'Tokens of an issuer with several audiences name theirs',
    {
      payments: { notApplicable: 'the service issues no access tokens' },
      inventory: { notApplicable: 'the service issues no tokens' },
    },
  ],
])
