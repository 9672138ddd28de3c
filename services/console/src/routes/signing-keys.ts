import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type SigningKey, SigningKeysView, signingKeyChanges, signingKeysPage } from '../auth-settings/settings-page.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { refuseMissing } from '../service-calls/service-call.ts'

const KeyParams = z.object({ kid: z.string().max(128) })

export const signingKeysRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/signing-keys', async (request, reply) =>
    sendPage(request, reply, signingKeysPage(await readKeys(request), viewerOf(request))),
  )

  addChangeRoutes(app, '/signing-keys/:kid/:change', {
    params: KeyParams,
    changeable: signingKeyChanges,
    read: readKey,
  })
}

async function readKeys(request: FastifyRequest): Promise<readonly SigningKey[]> {
  return (await visitOf(request).calls.read('auth', '/operator/keys', SigningKeysView)).value.keys
}

async function readKey(request: FastifyRequest, { kid }: z.infer<typeof KeyParams>): Promise<SigningKey> {
  const found = (await readKeys(request)).find((key) => key.kid === kid)
  return found ?? refuseMissing()
}
