import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { LocationBody } from '../../plugins/location-form.ts'
import { answerDone, requireAction, visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { INVENTORY } from '../../service-calls/inventory-answer.ts'
import { locationPage } from '../../stock/stock-forms.ts'

/** The form for a new location, and what it makes. */
export const newLocationRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/locations/new', (request, reply) => {
    const { form: proof } = requireAction(request, 'locations.change')
    return sendPage(request, reply, locationPage({ code: '', name: '', active: true }, { proof }))
  })

  app.post('/locations/new', { schema: { body: LocationBody } }, async (request, reply) => {
    const { calls, form: proof } = visitOf(request)
    const { _key: key, _csrf, ...body } = request.body
    const outcome = await calls.change({ service: 'inventory', method: 'POST', path: INVENTORY.locations, body, key })
    if (outcome.kind === 'done') {
      return answerDone(request, reply, { path: INVENTORY.locations, toast: `${body.code} is created` })
    }
    return sendPage(request, reply, locationPage(body, { proof, problem: outcome.message }), 422)
  })
}
