import { z } from 'zod'
import { operatorAnswers } from '../../../../error-body.ts'
import { BankFilesView } from '../../../../payouts/bank-files.ts'
import type { Routes } from '../../../../plugins/read-request.ts'
import { pathId } from '../../../../requests/fields.ts'
import { showBankFiles } from '../../../../use-cases/show-bank-files.ts'

export const operatorBankFilesRoutes: Routes = async (app) => {
  app.get(
    '/operator/payouts/batches/:batchId/files',
    {
      config: { action: 'payouts.export' },
      schema: {
        operationId: 'getPayoutFiles',
        tags: ['Operators'],
        summary: 'Fetch the files of a batch once more',
        params: z.object({ batchId: pathId() }),
        response: { 200: z.object({ files: BankFilesView }), ...operatorAnswers(403, 409) },
      },
    },
    async ({ operator, params: { batchId } }) => ({ files: await showBankFiles(app.deps, { operator, batchId }) }),
  )
}
