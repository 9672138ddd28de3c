import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { AppMemberView, UserMemberView, viewAppMember, viewUserMember } from '../../members/member.ts'
import { MerchantView, viewMerchant } from '../../merchants/merchant.ts'
import { listMerchantsForOperator } from '../../merchants/operator-merchant-repository.ts'
import { ROWS_OF_LONG_READ } from '../../plugins/concurrency-limits.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { pathId, text } from '../../requests/fields.ts'
import { type ShownMerchant, showMerchant } from '../../use-cases/show-merchant.ts'
import { viewWebhook, WebhookView } from '../../webhooks/webhook-view.ts'

const MerchantsQuery = operatorListQuery('merchants').extend({
  search: text()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe('An id or a public key, or how a name, an email address or a website begins'),
  test: z.boolean().optional().describe('Only test merchants, or only live ones'),
})

const ShownMerchantView = z.object({
  merchant: MerchantView,
  available: z.int().describe('What a payout would take, in minor units'),
  reserve: z.int().describe('What open disputes would take'),
  acquirer: z.string().optional().describe('The acquirer of a live merchant'),
  apps: z.array(AppMemberView).describe('The newest 100'),
  users: z.array(UserMemberView).describe('The newest 100'),
  webhooks: z.array(WebhookView),
})

export const operatorMerchantsRoutes: Routes = async (app) => {
  app.get(
    '/operator/merchants',
    {
      config: { action: 'merchants.read' },
      schema: {
        operationId: 'listMerchantsAsOperator',
        tags: ['Operators'],
        summary: 'List and search the merchants of everybody',
        querystring: MerchantsQuery,
        response: { 200: z.object({ merchants: z.array(MerchantView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { limit, cursor, order, test, search } = requireValues(query)
      const page = readOperatorPage('merchants', { limit, cursor, order })
      const { rows: found, cutAt } = await listMerchantsForOperator(app.deps.operatorPools, { ...page, test, search })
      const rows = found.map(({ merchant }) => merchant)
      return { merchants: showOperatorPage(reply, 'merchants', { limit, rows, cutAt }).map(viewMerchant) }
    },
  )

  app.get(
    '/operator/merchants/:merchantId',
    {
      config: { action: 'merchants.read', rowsCounted: ROWS_OF_LONG_READ },
      schema: {
        operationId: 'getMerchantAsOperator',
        tags: ['Operators'],
        summary: 'Get a merchant of anybody',
        params: z.object({ merchantId: pathId() }),
        response: { 200: ShownMerchantView, ...operatorAnswers() },
      },
    },
    async ({ params: { merchantId } }) => viewShown(await showMerchant(app.deps, merchantId)),
  )
}

function viewShown(shown: ShownMerchant): z.infer<typeof ShownMerchantView> {
  const { merchant, available, reserve, acquirer, apps, users, webhooks } = shown
  return {
    merchant: viewMerchant(merchant),
    available,
    reserve,
    acquirer: acquirer ?? undefined,
    apps: apps.map(viewAppMember),
    users: users.map(viewUserMember),
    webhooks: webhooks.map(viewWebhook),
  }
}
