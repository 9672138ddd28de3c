import type { Command } from 'commander'
import { insertOperatorAudit } from '../access/audit-repository.ts'
import { bookReversal } from '../acquirers/book-answers.ts'
import type { OperatorDeps } from '../deps.ts'
import {
  findUnknownAttemptById,
  listUnsettledAttempts,
  type UnsettledAttempt,
  updateUnknownAttempt,
} from '../transactions/attempt-repository.ts'
import { type Operation, type OperationInput, type Operator, operationGroup } from './operation.ts'

/** `payments attempts …`: authorizations of which nobody knows what became of them. */
export function attemptsCommand(operator: Operator): Command {
  return operationGroup(operator, 'attempts', 'list and settle authorizations of unknown outcome', operations)
}

const LIST_LIMIT = 1_000

const operations: readonly Operation[] = [
  {
    usage: 'list',
    description: 'show what was sent and has no outcome, oldest first',
    run: ({ database }) => listUnsettledAttempts(database.db, { ageSeconds: 0, limit: LIST_LIMIT }),
  },
  {
    usage: 'resolve <id> <outcome>',
    description: 'say how it ended: approved (the acquirer is asked to give it back) or declined',
    run: resolve,
  },
]

async function resolve(deps: OperatorDeps, { words: [id = '', outcome] }: OperationInput): Promise<object> {
  if (outcome !== 'approved' && outcome !== 'declined') throw new Error('the outcome is approved or declined')
  const { db } = deps.database
  const attempt = await findUnknownAttemptById(db, id)
  if (!attempt) throw new Error(`there is no attempt ${id} of unknown outcome`)
  if (outcome === 'approved') await reverse(deps, attempt)
  else await updateUnknownAttempt(db, attempt, 'declined')
  const status = outcome === 'approved' ? 'reversed' : 'declined'
  const { merchantId } = attempt
  await insertOperatorAudit(db, { action: 'attempt.resolved', merchantId, payload: { attemptId: id, status } })
  return { id, status }
}

async function reverse({ acquirers, database }: OperatorDeps, attempt: UnsettledAttempt): Promise<void> {
  const acquirer = acquirers.find(attempt.acquirer)
  if (!acquirer) throw new Error(`acquirer ${attempt.acquirer} is not configured`)
  const isReversed = await bookReversal(database.db, attempt, await acquirer.reverse(attempt.id))
  if (!isReversed) throw new Error('the acquirer did not take the reversal')
}
