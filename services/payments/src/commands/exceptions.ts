import type { Command } from 'commander'
import { listOpenExceptions } from '../acquirers/exception-repository.ts'
import { callResolveException } from '../acquirers/operator-exception-repository.ts'
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
    description: 'list open exceptions, oldest first',
    run: ({ db }) => listOpenExceptions(db, ROWS_MAX),
  },
  {
    usage: 'resolve <merchant> <id>',
    description: 'close an exception that was dealt with, for example by an adjustment',
    run: ({ db }, { words: [merchantId = '', id = ''] }) =>
      db.transaction().execute(async (trx) => {
        const { waited = false } = (await callResolveException(trx, { merchantId, id })) ?? {}
        if (!waited) throw new Error(`no exception ${id} waits`)
        await insertOperatorAudit(trx, { action: 'exception.resolved', merchantId, payload: { exceptionId: id } })
        return { id, resolved: true }
      }),
  },
]
