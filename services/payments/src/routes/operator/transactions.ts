import { z } from 'zod'
import { DisputeView, viewDispute } from '../../disputes/dispute.ts'
import { FraudView, viewFraud } from '../../disputes/fraud.ts'
import { operatorAnswers } from '../../error-body.ts'
import type { PageBounds } from '../../pagination/page-query.ts'
import { ROWS_OF_LONG_READ } from '../../plugins/concurrency-limits.ts'
import {
  answerAsCsv,
  listOrCsv,
  operatorListQuery,
  readOperatorPage,
  showOperatorPage,
} from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, pathId, text } from '../../requests/fields.ts'
import {
  countReadAtOnce,
  findTransactionsOfAll,
  listFoundFigures,
  listFoundTransactions,
} from '../../transactions/operator-transaction-repository.ts'
import { TransactionView, viewTransaction } from '../../transactions/transaction-view.ts'
import { type ShownTransaction, showTransaction } from '../../use-cases/show-transaction.ts'
import { EventSummaryView, viewEventSummary } from '../../webhooks/event-view.ts'

const TransactionsQuery = operatorListQuery('transactions').extend({
  search: text()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'A whole id, the last four digits of a card, an amount such as `12.50`, `HUF 1000` or 1250 minor units, or a reference',
    ),
  merchant: id().optional().describe('Only transactions of this merchant'),
  successful: z.boolean().optional().describe('Only those that were authorized, or only those that were refused'),
  test: z.boolean().optional().describe('Only those of test merchants, or only of live ones'),
})

const CSV_COLUMNS = [
  ...['id', 'merchantId', 'created', 'test', 'currency', 'amount', 'pendingAmount', 'capturedAmount', 'refundedAmount'],
  ...['voidedAmount', 'disputedAmount', 'reference', 'descriptor', 'card.bin', 'card.last4', 'card.scheme', 'tds'],
  ...['recurring', 'successful', 'error.code', 'error.message'],
]

/** A transaction without clients' JSON, which may have 50 kB per field, because a page has many transactions. */
const ListedTransactionView = TransactionView.omit({ custom: true, plan: true, unplanned: true }).meta({
  id: 'ListedTransaction',
})

const JournalView = z.object({
  id: z.string(),
  created: z.iso.datetime(),
  kind: z.string(),
  entries: z.array(z.object({ account: z.string(), currency: z.string(), amount: z.int() })),
})

const amountLeft = (what: string) => z.int().describe(`What may still be ${what}, in minor units`)

const ShownTransactionView = z.object({
  transaction: TransactionView,
  merchant: z.object({ id: z.string(), name: z.string().optional() }),
  acquirer: z.string().optional().describe('Absent: the simulator'),
  acquirerRef: z.string().optional().describe("The acquirer's own name for the transaction"),
  threeDS: z
    .object({ outcome: z.enum(['attempt', 'full']) })
    .nullable()
    .describe('How far 3-D Secure has authenticated the customer. null: not at all'),
  journals: z.array(JournalView).describe('The newest 100'),
  events: z.array(EventSummaryView).describe('The newest 25 of the last 30 days'),
  disputes: z.array(DisputeView).describe('The newest 100'),
  frauds: z.array(FraudView).describe('The newest 100'),
  limits: z.object({
    capture: amountLeft('captured'),
    refund: amountLeft('refunded'),
    void: amountLeft('voided'),
    dispute: amountLeft('disputed'),
    refundLimit: z.int().optional().describe('The most that the operator may refund at once, for support alone'),
    refundAllowance: z.int().optional().describe('What the operator may still refund today, for support alone'),
  }),
})

export const operatorTransactionsRoutes: Routes = async (app) => {
  app.get(
    '/operator/transactions',
    {
      config: { action: 'transactions.read' },
      schema: {
        operationId: 'listTransactionsAsOperator',
        tags: ['Operators'],
        summary: 'List and search the transactions of all merchants',
        querystring: TransactionsQuery,
        response: { ...listOrCsv(z.object({ transactions: z.array(ListedTransactionView) })), ...operatorAnswers(400) },
      },
    },
    async (request, reply) => {
      const { merchant: merchantId, search, successful, test, ...place } = requireValues(request.query)
      const page = readOperatorPage('transactions', place)
      const find = (bounds: PageBounds) =>
        findTransactionsOfAll(app.deps.operatorPools, { ...bounds, merchantId, search, flags: { successful, test } })
      const read = async (bounds: PageBounds) => listFoundFigures(app.deps.operatorPools, await find(bounds))
      if (await answerAsCsv(request, reply, { page, read, view: viewTransaction, columns: CSV_COLUMNS })) return reply
      const rows = await find(page)
      const limit = Math.min(place.limit, countReadAtOnce(rows))
      const shown = showOperatorPage(reply, 'transactions', { limit, rows })
      return { transactions: (await listFoundTransactions(app.deps.operatorPools, shown)).map(viewTransaction) }
    },
  )

  app.get(
    '/operator/transactions/:transactionId',
    {
      config: { action: 'transactions.read', rowsCounted: ROWS_OF_LONG_READ },
      schema: {
        operationId: 'getTransactionAsOperator',
        tags: ['Operators'],
        summary: 'Fetch a transaction of any merchant with all that happened to it',
        params: z.object({ transactionId: pathId() }),
        response: { 200: ShownTransactionView, ...operatorAnswers() },
      },
    },
    async ({ operator, params: { transactionId } }) =>
      viewShown(await showTransaction(app.deps, { transactionId, operator })),
  )
}

function viewShown(shown: ShownTransaction): z.infer<typeof ShownTransactionView> {
  const { transaction, merchantName, acquirer, acquirerRef, journals } = shown
  const { tds } = transaction
  return {
    transaction: viewTransaction(transaction),
    merchant: { id: transaction.merchantId, name: merchantName ?? undefined },
    acquirer: acquirer ?? undefined,
    acquirerRef: acquirerRef ?? undefined,
    threeDS: tds === null ? null : { outcome: tds },
    journals: journals.map(({ created, entries, ...journal }) => ({
      ...journal,
      created: created.toISOString(),
      entries: [...entries],
    })),
    events: shown.events.map(viewEventSummary),
    disputes: shown.disputes.map(viewDispute),
    frauds: shown.frauds.map(viewFraud),
    limits: {
      ...shown.left,
      refundLimit: shown.allowance?.limit,
      refundAllowance: shown.allowance?.left,
    },
  }
}
