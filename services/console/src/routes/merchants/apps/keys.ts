import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { revokeKeysPage } from '../../../merchants/merchant-pages.ts'
import { merchantPath, ShownMerchant } from '../../../merchants/merchant-view.ts'
import { FormBody } from '../../../plugins/browser-session.ts'
import { answerDone, visitOf } from '../../../plugins/operator.ts'
import { sendPage } from '../../../plugins/pages.ts'

const Params = z.object({ merchantId: z.string().max(64), appId: z.string().max(64) })
type Params = z.infer<typeof Params>

/** Asks before all keys of an app are revoked, and revokes them. */
export const appKeysRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/merchants/:merchantId/apps/:appId/keys', { schema: { params: Params } }, async (request, reply) => {
    const { appId } = request.params
    return sendPage(
      request,
      reply,
      revokeKeysPage(await readMerchant(request, request.params), { appId, proof: visitOf(request).form }),
    )
  })

  app.post(
    '/merchants/:merchantId/apps/:appId/keys',
    { schema: { params: Params, body: FormBody } },
    async (request, reply) => revokeKeys({ request, reply }, { ...request.params, key: request.body._key }),
  )
}

async function revokeKeys(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { key, ...params }: Params & { readonly key: string },
): Promise<FastifyReply> {
  const { calls, form } = visitOf(request)
  const outcome = await calls.change({ service: 'payments', method: 'DELETE', path: keysPath(params.appId), key })
  if (outcome.kind === 'done') {
    return answerDone(request, reply, {
      path: merchantPath(params.merchantId),
      toast: 'The keys of the app are revoked',
    })
  }
  return sendPage(
    request,
    reply,
    revokeKeysPage(await readMerchant(request, params), { appId: params.appId, proof: form, problem: outcome.message }),
    422,
  )
}

async function readMerchant(request: FastifyRequest, { merchantId }: Params): Promise<ShownMerchant> {
  const path = `/operator/merchants/${encodeURIComponent(merchantId)}`
  return (await visitOf(request).calls.read('payments', path, ShownMerchant)).value
}

function keysPath(appId: string): string {
  return `/operator/apps/${encodeURIComponent(appId)}/keys`
}
