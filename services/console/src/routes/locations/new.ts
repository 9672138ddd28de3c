import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { askedAgain } from '../../plugins/asked-changes.ts'
import { LocationBody } from '../../plugins/forms.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { INVENTORY } from '../../service-calls/operator-calls.ts'
import { locationPage } from '../../stock/stock-forms.ts'

export const newLocationRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/locations/new', (request, reply) => {
    const { form: proof } = requireAction(request, 'locations.change')
    if (isLedToForm(request)) return leadAround(request, reply, INVENTORY.locations)
    return sendPage(request, reply, locationPage({ code: '', name: '', active: true }, { proof }))
  })

  app.post('/locations/new', { schema: { body: LocationBody } }, async (request, reply) =>
    createLocation({ request, reply }, request.body),
  )
}

async function createLocation(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { _key: key, _csrf, ...body }: z.output<typeof LocationBody>,
): Promise<FastifyReply> {
  const { calls } = visitOf(request)
  const path = INVENTORY.locations
  const outcome = await calls.change({ service: 'inventory', method: 'POST', path, body, key })
  if (outcome.kind === 'done') return answerDone(request, reply, { path, toast: `${body.code} is created` })
  const asked = askedAgain(request, outcome)
  return sendPage(request, reply, locationPage(body, asked), asked.status)
}
