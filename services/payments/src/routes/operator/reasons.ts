import { z } from 'zod'
import { DISPUTE_REASONS } from '../../disputes/dispute.ts'
import { FRAUD_REASONS } from '../../disputes/fraud.ts'
import { operatorAnswers } from '../../error-body.ts'
import type { Routes } from '../../plugins/read-request.ts'

const ReasonView = z.object({ code: z.int(), title: z.string() })

export const operatorReasonsRoutes: Routes = async (app) => {
  app.get(
    '/operator/reasons',
    {
      config: { action: 'disputes.read' },
      schema: {
        operationId: 'listReasonsAsOperator',
        tags: ['Operators'],
        summary: 'List the reasons of disputes and of fraud alerts',
        response: {
          200: z.object({
            disputes: z.array(ReasonView).describe('The default first'),
            frauds: z.array(ReasonView),
          }),
          ...operatorAnswers(),
        },
      },
    },
    async () => ({ disputes: [...DISPUTE_REASONS], frauds: [...FRAUD_REASONS] }),
  )
}
