import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import type { Command } from 'commander'
import { insertAppInvitation, updateAllKeysRevoked, updateAppHidden } from '../apps/app-repository.ts'
import type { OperatorDeps } from '../deps.ts'
import { generateToken } from '../members/invitation.ts'
import { createApp } from '../use-cases/create-app.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** `payments apps …`: apps and invitations to register them. */
export function appsCommand(operator: Operator): Command {
  return commandGroup(
    operator,
    'apps',
    'make apps, invite others to, show or hide their hints, revoke their keys',
    commands,
  )
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'create',
    description: 'make an app and print its key, which is not shown again',
    options: [['--name <name>', 'what merchants see instead of the hint of its key']],
    run: ({ pools, pepper, generateApiKey }, { options }) =>
      createApp(
        { pools, pepper, generateApiKey },
        { name: typeof options.name === 'string' ? options.name : undefined },
      ),
  },
  {
    usage: 'invite',
    description: 'print a code that registers one app within 14 days',
    options: [['--note <text>', 'whom it is for']],
    run: ({ db, randomBytes }, { options: { note } }) =>
      insertAppInvitation(db, {
        code: generateToken(randomBytes),
        note: typeof note === 'string' ? note : null,
      }),
  },
  {
    usage: 'hide <id>',
    description: 'hide the hint of its key from other members of its merchants',
    run: (deps, input) => setHidden(deps, input, { hidden: true }),
  },
  {
    usage: 'unhide <id>',
    description: 'show the hint of its key again',
    run: (deps, input) => setHidden(deps, input, { hidden: false }),
  },
  {
    usage: 'revoke-keys <id>',
    description: 'revoke every key of an app, from its next request on',
    run: async ({ db }, { words: [id = ''] }) => ({ id, revoked: await updateAllKeysRevoked(db, id) }),
  },
]

async function setHidden(
  { db }: OperatorDeps,
  { words: [id = ''] }: CommandInput,
  { hidden }: { readonly hidden: boolean },
) {
  await updateAppHidden(db, { id, hidden })
  return { id, hidden }
}
