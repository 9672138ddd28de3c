import type { Command } from 'commander'
import { insertOperatorAudit } from '../access/audit-repository.ts'
import { listOpenExceptions, updateExceptionResolved } from '../acquirers/exception-repository.ts'
import { type Operation, type Operator, operationGroup } from './operation.ts'

/** `payments exceptions …`: what acquirers refused or said that our books could not follow. */
export function exceptionsCommand(operator: Operator): Command {
  return operationGroup(operator, 'exceptions', 'list and close what acquirers refused or said out of turn', operations)
}

const LIST_LIMIT = 1_000

const operations: readonly Operation[] = [
  {
    usage: 'list',
    description: 'show those that wait, oldest first',
    run: ({ database }) => listOpenExceptions(database.db, LIST_LIMIT),
  },
  {
    usage: 'resolve <merchant> <id>',
    description: 'note that one has been dealt with, for example by an adjustment',
    run: async ({ database: { db } }, { words: [merchantId = '', id = ''] }) => {
      if (!(await updateExceptionResolved(db, merchantId, id))) throw new Error(`no exception ${id} waits`)
      await insertOperatorAudit(db, { action: 'exception.resolved', merchantId, payload: { exceptionId: id } })
      return { id, resolved: true }
    },
  },
]
