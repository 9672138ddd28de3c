import type { CommandInput } from '@trestle/common/commands/operator-command.ts'
import type { Command } from 'commander'
import { giveBackAttempt } from '../acquirers/book-answers.ts'
import type { OperatorDeps } from '../deps.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import {
  findUnknownAttemptById,
  listUnsettledAttempts,
  type UnsettledAttempt,
  updateUnknownAttempt,
} from '../transactions/attempt-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** `payments attempts …`: authorizations without a known outcome. */
export function attemptsCommand(operator: Operator): Command {
  return commandGroup(operator, 'attempts', 'list and resolve authorizations without a known outcome', commands)
}

const ROWS_MAX = 1_000

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'list authorizations without a known outcome, oldest first',
    run: ({ db }) => listUnsettledAttempts(db, { ageSeconds: 0, limit: ROWS_MAX }),
  },
  {
    usage: 'resolve <id> <outcome>',
    choices: { outcome: ['approved', 'declined'] },
    description: 'record the outcome: approved (the acquirer is asked to take it back) or declined',
    run: resolve,
  },
]

async function resolve(deps: OperatorDeps, { words: [id = '', outcome] }: CommandInput): Promise<object> {
  const { db } = deps
  const attempt = (await findUnknownAttemptById(db, id)) ?? refuseKnown(id)
  if (outcome === 'approved') await giveBack(deps, attempt)
  const state = outcome === 'approved' ? 'reversed' : 'declined'
  const { merchantId } = attempt
  return db.transaction().execute(async (trx) => {
    if (!(await updateUnknownAttempt(trx, attempt, state))) refuseKnown(id)
    await insertOperatorAudit(trx, { action: 'attempt.resolved', merchantId, payload: { attemptId: id, state } })
    return { id, state }
  })
}

function refuseKnown(id: string): never {
  throw new Error(`there is no attempt ${id} of unknown outcome`)
}

async function giveBack(deps: OperatorDeps, attempt: UnsettledAttempt): Promise<void> {
  switch (await giveBackAttempt(deps, attempt)) {
    case 'no-acquirer':
      throw new Error(`acquirer ${attempt.acquirer} is not configured`)
    case 'refused':
      throw new Error('the acquirer did not take the reversal')
    case 'reversed':
  }
}
