import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { appChanges, type KnownApp } from '../../../merchants/app-changes.ts'
import { MerchantView } from '../../../merchants/merchant-view.ts'
import { answerChange, askChange, findById } from '../../../plugins/asked-changes.ts'
import { FormBody } from '../../../plugins/browser-session.ts'
import { visitOf } from '../../../plugins/operator.ts'

const Params = z.object({ merchantId: z.string().max(64), appId: z.string().max(64) })

/** Asks before all keys of an app are revoked, and revokes them. */
export const appKeysRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/merchants/:merchantId/apps/:appId/keys', { schema: { params: Params } }, async (request, reply) => {
    const shown = await readApp(request, request.params)
    return askChange(request, reply, appChanges, { name: 'keys', shown })
  })

  app.post(
    '/merchants/:merchantId/apps/:appId/keys',
    { schema: { params: Params, body: FormBody } },
    async (request, reply) => {
      const shown = await readApp(request, request.params)
      return answerChange(request, reply, appChanges, { name: 'keys', shown })
    },
  )
}

async function readApp(request: FastifyRequest, { merchantId, appId }: z.infer<typeof Params>): Promise<KnownApp> {
  const path = `/operator/merchants/${encodeURIComponent(merchantId)}`
  const { merchant, apps } = (await visitOf(request).calls.read('payments', path, MerchantView)).value
  return { merchant, app: findById(apps, appId) }
}
