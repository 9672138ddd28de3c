import { z } from 'zod'
import { mapInput, requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { chargeRefusal, errorAnswers } from '../../error-body.ts'
import { FIELD_TEXTS } from '../../field-errors.ts'
import { NO_PAGE, type PageBounds, pageBounds } from '../../pagination/page-query.ts'
import { answerCreated } from '../../plugins/answers.ts'
import { TRAIL_ENTRIES } from '../../plugins/concurrency-limits.ts'
import { answerInChunks } from '../../plugins/list-chunks.ts'
import type { Routes } from '../../plugins/read-request.ts'
import {
  amount,
  currency,
  custom,
  descriptor,
  id,
  ListQuery,
  pathId,
  reference,
  referenceOf,
  text,
  withText,
} from '../../requests/fields.ts'
import { falseIsAbsent } from '../../requests/validate-input.ts'
import type { Charge } from '../../transactions/charge-repository.ts'
import { listTransactions } from '../../transactions/transaction-repository.ts'
import { TransactionView, viewTransaction } from '../../transactions/transaction-view.ts'
import { type ChargeValues, createTransaction } from '../../use-cases/create-transaction.ts'

const source = () => id().optional().register(falseIsAbsent, {})

const ChargeBody = z
  .object({
    transactionId: source(),
    authorizationId: source(),
    cardId: source(),
    descriptor: descriptor().optional(),
    currency: currency(),
    amount: amount(),
    custom: custom().optional(),
    reference: reference().optional(),
  })
  .refine(({ transactionId, authorizationId, cardId }) => transactionId ?? authorizationId ?? cardId, {
    path: ['transactionId'],
    error: FIELD_TEXTS.required,
    when: () => true,
  })
  .refine(({ transactionId, authorizationId }) => isSame(transactionId, authorizationId), {
    path: ['authorizationId'],
    error: FIELD_TEXTS.notSameTransaction,
    params: { code: 'MISMATCH' },
    when: () => true,
  })
  .refine(({ transactionId, authorizationId, cardId }) => !cardId || !(transactionId ?? authorizationId), {
    path: ['cardId'],
    error: FIELD_TEXTS.besideTransaction,
    params: { code: 'DUPLICATE' },
    when: () => true,
  })
  // The service is more lenient: it accepts the first two together if they are equal.
  .meta({ oneOf: ['transactionId', 'authorizationId', 'cardId'].map(withText) })

const TransactionListQuery = ListQuery.extend({
  filter: z
    .object({
      test: z.boolean().optional(),
      successful: z.boolean().optional(),
      recurring: z.boolean().optional(),
      currency: text().optional(),
    })
    .optional()
    .describe('Only transactions of this kind, as filter[successful]=y'),
})

const MerchantParams = z.object({ merchantId: pathId() })

/** Lists the transactions of a merchant, and charges a card again (reference: Charging again). */
export const merchantTransactionsRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/transactions',
    {
      config: { entriesOfRow: TRAIL_ENTRIES },
      schema: {
        operationId: 'listTransactions',
        tags: ['Transactions'],
        summary: 'List the transactions of a merchant',
        params: MerchantParams,
        querystring: TransactionListQuery,
        response: { 200: z.array(TransactionView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }, reply) => {
      const query = valuesOrNull(input)
      const { test, successful, recurring, currency } = query?.filter ?? {}
      const columns = { ...caller, merchantId, test, successful, recurring, currency }
      const read = async (page: PageBounds) =>
        requireAccess(caller, await listTransactions(app.deps.pools, { ...columns, ...page }), input)
      return answerInChunks(reply, { page: pageBounds(query ?? NO_PAGE), read, view: viewTransaction })
    },
  )
  app.post(
    '/merchants/:merchantId/transactions',
    {
      schema: {
        operationId: 'createTransaction',
        tags: ['Transactions'],
        summary: 'Charge a card again, by an earlier transaction or a saved card',
        params: MerchantParams,
        body: ChargeBody,
        response: {
          201: z.object({ transaction: z.object({ id: z.string() }) }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
          ...chargeRefusal,
        },
      },
    },
    async ({ caller, params: { merchantId }, body }, reply) => {
      const charge = mapInput(body, toChargeValues)
      const { transactionId, replayed } = await createTransaction(app.deps, { caller, merchantId, charge })
      answerCreated(reply, { replayed })
      return { transaction: { id: transactionId } }
    },
  )
}

function isSame(transactionId: string | undefined, authorizationId: string | undefined): boolean {
  return transactionId === undefined || authorizationId === undefined || transactionId === authorizationId
}

type ChargeInput = z.infer<typeof ChargeBody>

function toChargeValues(body: ChargeInput): ChargeValues {
  return { charge: toCharge(body), sourceField: nameOfSource(body) }
}

function toCharge({ authorizationId, transactionId = authorizationId, ...charge }: ChargeInput): Charge {
  return { ...charge, transactionId, reference: charge.reference ?? referenceOf(charge.custom) }
}

function nameOfSource({ transactionId, authorizationId }: ChargeInput): string {
  if (transactionId !== undefined) return 'transactionId'
  return authorizationId === undefined ? 'cardId' : 'authorizationId'
}
