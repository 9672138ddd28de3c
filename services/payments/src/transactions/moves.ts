import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { createMoveQueue, type MoveQueue, type MoveQueueOptions } from './move-queue.ts'
import { callMoveMany, type Move, type MoveResult, type RateTerms } from './move-repository.ts'

export interface MovesOptions {
  readonly lanes: Lanes
  readonly meter: Meter
  readonly terms: RateTerms
  readonly scope: MoveQueueOptions['scope']
}

/** Captures, refunds and voids of this process, grouped and counted. */
export function createMoves({ lanes, meter, terms, scope }: MovesOptions): MoveQueue {
  const count = createCounters(meter)
  const queue = createMoveQueue({
    carryOut: (moves) => callMoveMany(lanes, moves, terms),
    isWorthRepeating: isRefusedStatement,
    scope,
  })
  return {
    move: async (move) => {
      try {
        const result = await queue.move(move)
        count.result(move, result)
        return result
      } catch (error) {
        if (isLockTimeout(error)) count.conflict(move)
        throw error
      }
    },
  }
}

function createCounters(meter: Meter) {
  const operations = meter.createCounter('payments_operations_total', {
    description: 'Captures, refunds and voids that were judged',
  })
  const conflicts = startAtZero(
    meter.createCounter('payments_operation_conflicts_total', {
      description: 'Operations whose lock was not had in time',
    }),
    [{ kind: 'capture' }, { kind: 'refund' }, { kind: 'void' }],
  )
  const journals = meter.createCounter('payments_ledger_journals_total', { description: 'Journals that were booked' })
  return {
    result: ({ operation: kind }: Move, { verdict, transaction, refusal }: MoveResult) => {
      const test = transaction === undefined ? {} : { test: transaction.test }
      operations.add(1, { kind, ...test, outcome: refusal?.reason ?? verdict })
      if (verdict === 'done' && transaction && kind !== 'void') journals.add(1, { kind })
    },
    conflict: ({ operation: kind }: Move) => conflicts.add(1, { kind }),
  }
}
