import { expect, it } from 'vitest'
import { invalidFields, notFound, payoutSkipped } from '../errors.ts'
import { explainRefusal } from './operator-command.ts'

it.each([
  ['its fields', payoutSkipped('no_iban'), 'balance: no_iban'],
  [
    'each of its fields',
    invalidFields([
      { field: 'name', message: 'is missing', code: 'REQUIRED' },
      { field: 'email', message: 'must be an email address', code: 'FORMAT' },
    ]),
    'name: is missing; email: must be an email address',
  ],
  ['itself, when it has no fields', notFound(), notFound().message],
  [
    'the setting that the login needs',
    new Error('permission denied for table merchants'),
    'the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL',
  ],
  [
    'the command that names the server that is away',
    new Error('connection to the remote node trestle@10.0.0.2:5432 failed'),
    'a server of the cluster is unavailable, so run payments doctor: connection to the remote node trestle@10.0.0.2:5432 failed',
  ],
])('explains a refusal by %s', (_what, error, message) => {
  expect(explainRefusal(error)).toHaveProperty('message', message)
})
