import { commandGroup, type Operator } from '@trestle/common/commands/operator-command.ts'
import type { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { manageUsers } from './manage-users.ts'
import { addTransferCommands, type TransferOptions } from './transfer-users.ts'

/** The dependencies of `auth users`: the database, the clock and the standard streams. */
export interface UsersCommandOptions extends TransferOptions {
  /** How the commands open the database, and where they print. */
  readonly operator: Operator<OperatorDeps>
}

/** The command `users`, with the commands of `manage-users.ts` and `transfer-users.ts`. */
export function usersCommand(options: UsersCommandOptions): Command {
  const description = 'list, make, change, invite, move and delete users'
  const command = commandGroup(options.operator, 'users', description, manageUsers)
  addTransferCommands(command, options)
  return command
}
