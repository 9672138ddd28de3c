import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { FIELD_TEXTS } from '../../../field-errors.ts'
import { BankFilesView, BatchView, HeldPayoutsView } from '../../../payouts/bank-files.ts'
import { BIC, toHolderName } from '../../../payouts/pain-001.ts'
import { listBatchesForOperator } from '../../../payouts/payout-batch-repository.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { name, text } from '../../../requests/fields.ts'
import { checkedIban } from '../../../requests/merchant-body.ts'
import { exportPayouts } from '../../../use-cases/export-payouts.ts'

const DebtorBody = z.object({
  name: name()
    .refine((owner) => toHolderName(owner) !== '', { error: FIELD_TEXTS.notLatin })
    .describe('The owner of the account that pays'),
  iban: checkedIban().describe('That account'),
  bic: text().regex(BIC).optional().describe('Its bank'),
  executionDate: text()
    .regex(/^\d{4}-\d{2}-\d{2}$/, { error: FIELD_TEXTS.notDate })
    .optional()
    .describe('The day on which the bank shall pay, such as 2026-03-02. By default the next day on which banks settle'),
})

export const operatorBatchesRoutes: Routes = async (app) => {
  app.get(
    '/operator/payouts/batches',
    {
      config: { action: 'payouts.read' },
      schema: {
        operationId: 'listPayoutBatches',
        tags: ['Operators'],
        summary: 'List the batches of payouts',
        querystring: operatorListQuery('batches'),
        response: { 200: z.object({ batches: z.array(BatchView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const place = requireValues(query)
      const rows = await listBatchesForOperator(app.deps.operatorPools, readOperatorPage('batches', place))
      const batches = showOperatorPage(reply, 'batches', { limit: place.limit, rows })
      return { batches: batches.map(({ created, ...batch }) => ({ ...batch, created: created.toISOString() })) }
    },
  )

  app.post(
    '/operator/payouts/batches',
    {
      config: { action: 'payouts.export' },
      schema: {
        operationId: 'exportPayouts',
        tags: ['Operators'],
        summary: 'Put up to 5,000 payouts that wait into files for the bank',
        body: DebtorBody,
        response: {
          201: z.object({
            batch: BatchView.nullable(),
            files: BankFilesView,
            waiting: z.int().min(0).describe('How many payouts still wait, for the next batch'),
            held: HeldPayoutsView.optional(),
          }),
          ...operatorAnswers(400, 403, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { name: owner, iban: account, bic, executionDate } = requireValues(request.body)
      const input = { change: readOperatorChange(request), debtor: { name: owner, iban: account, bic }, executionDate }
      return sendOperatorAnswer(reply, await exportPayouts(app.deps, input))
    },
  )
}
