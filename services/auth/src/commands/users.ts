import { commandGroup, type Operator } from '@trestle/common/commands/operator-command.ts'
import type { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { manageUsers } from './manage-users.ts'
import { addTransferCommands, type TransferOptions } from './transfer-users.ts'

export interface UsersCommandOptions extends TransferOptions {
  readonly operator: Operator<OperatorDeps>
}

export function usersCommand(options: UsersCommandOptions): Command {
  const description = 'list, make, change, invite, move and delete users'
  const command = commandGroup(options.operator, 'users', description, manageUsers)
  addTransferCommands(command, options)
  return command
}
