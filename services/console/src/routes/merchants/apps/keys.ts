import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { appChanges, type KnownApp } from '../../../merchants/app-list.ts'
import { MerchantView } from '../../../merchants/merchant-changes.ts'
import { addChangeRoutes, findById } from '../../../plugins/asked-changes.ts'
import { visitOf } from '../../../plugins/operator.ts'

const Params = z.object({ merchantId: z.string().max(64), appId: z.string().max(64) })

export const appKeysRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/merchants/:merchantId/apps/:appId/keys', {
    params: Params,
    changeable: appChanges,
    read: readApp,
  })
}

async function readApp(request: FastifyRequest, { merchantId, appId }: z.infer<typeof Params>): Promise<KnownApp> {
  const path = `/operator/merchants/${encodeURIComponent(merchantId)}`
  const { merchant, apps } = (await visitOf(request).calls.read('payments', path, MerchantView)).value
  return { merchant, app: findById(apps, appId) }
}
