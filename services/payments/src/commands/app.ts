import type { Command } from 'commander'
import { inviteApp, revokeAllKeys, updateAppHidden } from '../apps/app-repository.ts'
import type { OperatorDeps } from '../deps.ts'
import { drawToken } from '../members/invitation.ts'
import { createApp } from '../use-cases/create-app.ts'
import { type Operation, type OperationInput, type Operator, operationGroup } from './operation.ts'

/** `payments app …`: apps as an operator sees them. */
export function appCommand(operator: Operator): Command {
  return operationGroup(
    operator,
    'app',
    'make apps, invite others to, show or hide their hints, revoke their keys',
    operations,
  )
}

const operations: readonly Operation[] = [
  {
    usage: 'create',
    description: 'make an app and print its key, once',
    options: [['--name <name>', 'what merchants see instead of the hint of its key']],
    run: ({ database: { lanes }, pepper, createKey }, { options }) =>
      createApp({ lanes, pepper, createKey }, { name: typeof options.name === 'string' ? options.name : undefined }),
  },
  {
    usage: 'invite',
    description: 'print a code with which one app can be registered within 14 days',
    options: [['--note <text>', 'whom it is for']],
    run: ({ database, randomBytes }, { options: { note } }) =>
      inviteApp(database.db, {
        code: drawToken(randomBytes),
        note: typeof note === 'string' ? note : null,
      }),
  },
  {
    usage: 'hide <id>',
    description: 'no longer show the hint of its key to other members of its merchants',
    run: (deps, input) => setHidden(deps, input, true),
  },
  { usage: 'show <id>', description: 'show that hint again', run: (deps, input) => setHidden(deps, input, false) },
  {
    usage: 'revoke-keys <id>',
    description: 'revoke every key of an app, from its next request on',
    run: async ({ database }, { words: [id = ''] }) => ({ id, revoked: await revokeAllKeys(database.db, id) }),
  },
]

async function setHidden({ database }: OperatorDeps, { words: [id = ''] }: OperationInput, hidden: boolean) {
  await updateAppHidden(database.db, id, hidden)
  return { id, hidden }
}
