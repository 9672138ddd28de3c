import type { Command } from 'commander'
import {
  callResolveException,
  type ExceptionForOperator,
  listOpenExceptions,
} from '../acquirers/exception-repository.ts'
import { viewHeldBack } from '../acquirers/exception-view.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** `payments exceptions …`: answers of acquirers that contradict the books. */
export function exceptionsCommand(operator: Operator): Command {
  return commandGroup(operator, 'exceptions', 'list and close answers of acquirers that contradict the books', commands)
}

const ROWS_MAX = 1_000

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list open exceptions, oldest first, with the money that payouts hold back for them',
    run: async ({ db }) => (await listOpenExceptions(db, ROWS_MAX)).map(toRow),
  },
  {
    usage: 'resolve <merchant> <id>',
    description: 'close an exception that needs no booking; adjust --exception books and closes one',
    run: ({ db }, { words: [merchantId = '', id = ''] }) =>
      db.transaction().execute(async (trx) => {
        const { waited, exception } = (await callResolveException(trx, { merchantId, id })) ?? refuseMissing(id)
        if (!waited) refuseMissing(id)
        await insertOperatorAudit(trx, { action: 'exception.resolved', merchantId, payload: { exceptionId: id } })
        const freed = viewHeldBack(exception)
        return { id, resolved: true, ...(freed && { freed, booked: false }) }
      }),
  },
]

function toRow(exception: ExceptionForOperator): object {
  const { id, merchantId, created, payload } = exception
  return { id, merchantId, created, heldBack: viewHeldBack(exception), payload }
}

function refuseMissing(id: string): never {
  throw new Error(`no exception ${id} waits`)
}
