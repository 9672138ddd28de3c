import { z } from 'zod'
import { errorAnswers, operationForbidden, operatorAnswers, refundForbidden } from '../error-body.ts'
import { amount, descriptor, pathId, reference, text } from '../requests/fields.ts'
import type { Operation } from '../transactions/operation-group.ts'
import type { OperationKind } from '../transactions/transaction.ts'
import { TransactionView, viewTransaction } from '../transactions/transaction-view.ts'
import { runOperationForOperator } from '../use-cases/operator/run-operation.ts'
import { runOperation } from '../use-cases/run-operation.ts'
import { answerCreated } from './answers.ts'
import { readOperatorChange, sendOperatorAnswer } from './authenticate-operator.ts'
import { type Routes, requireValues } from './read-request.ts'

/** A kind of operation, and the body of its requests. */
interface OperationRoute {
  readonly kind: OperationKind
  readonly body: z.ZodType<Pick<Operation, 'amount' | 'currency' | 'descriptor' | 'reference'>>
}

const params = z.object({ transactionId: pathId() })
const created = z.object({ transaction: TransactionView })

/** Registers the route for captures, refunds or voids of a transaction (reference: Operations). */
export function addOperationRoute(app: Parameters<Routes>[0], url: string, { kind, body }: OperationRoute): void {
  app.post(
    url,
    {
      schema: {
        operationId: `${kind}Transaction`,
        tags: ['Transactions'],
        summary: `${capitalized(kind)} an amount of a transaction`,
        params,
        body,
        response: { 201: created, ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, params: { transactionId }, body: operation }, reply) => {
      const { transaction, replayed } = await runOperation(app.deps, { caller, transactionId, kind, operation })
      answerCreated(reply, { replayed })
      return { transaction: viewTransaction(transaction) }
    },
  )
}

/** Registers the route for captures, refunds or voids by operators (console reference: Routes of payments). */
export function addOperatorOperationRoute(
  app: Parameters<Routes>[0],
  url: string,
  { kind, body }: OperationRoute,
): void {
  app.post(
    url,
    {
      config: { action: `transactions.${kind}` },
      schema: {
        operationId: `${kind}TransactionAsOperator`,
        tags: ['Operators'],
        summary: `${capitalized(kind)} an amount of any merchant's transaction`,
        params,
        body,
        response: {
          201: created,
          ...operatorAnswers(400, 403, 409, 413, 415),
          ...(kind === 'refund' ? refundForbidden : operationForbidden),
        },
      },
    },
    async (request, reply) => {
      const { transactionId } = request.params
      const input = { change: readOperatorChange(request), transactionId, kind, fields: requireValues(request.body) }
      return sendOperatorAnswer(reply, await runOperationForOperator(app.deps, input))
    },
  )
}

function capitalized(kind: OperationKind): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
}

/** The body of a capture (reference: Operations). */
export const CaptureBody = z.object({
  amount: amount(),
  currency: text().trim().meta({ pattern: '^[A-Z]{3}$' }).optional(),
  descriptor: descriptor().optional(),
  reference: reference().optional(),
})

export const RefundBody = z.object({
  amount: amount(),
  descriptor: descriptor().optional(),
  reference: reference().optional(),
})

export const VoidBody = z.object({
  amount: amount(),
  reference: reference().optional(),
})
