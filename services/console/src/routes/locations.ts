import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { askedAgain } from '../plugins/asked-changes.ts'
import { LocationBody } from '../plugins/forms.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { INVENTORY, RecordId } from '../service-calls/operator-calls.ts'
import { locationPage } from '../stock/stock-forms.ts'
import { locationsPage } from '../stock/stock-lists.ts'
import { LocationsView, LocationView, locationPath } from '../stock/stock-view.ts'

const Params = z.object({ locationId: RecordId })
/** `shown` is the initial name in the form. */
const ChangeBody = LocationBody.extend({ etag: z.string().max(64), shown: z.string().optional() })
type ChangeBody = z.output<typeof ChangeBody>

export const locationsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/locations', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const { calls, role } = visitOf(request)
    const { cursor, limit } = pageQuery(request.query)
    const listed = await calls.read('inventory', '/locations', LocationsView, { cursor, limit })
    return sendPage(request, reply, locationsPage(request.query, listed, role))
  })

  app.get('/locations/:locationId', { schema: { params: Params } }, async (request, reply) => {
    const { calls, form: proof } = requireAction(request, 'locations.change')
    if (isLedToForm(request)) return leadAround(request, reply, INVENTORY.locations)
    const { value, etag = '' } = await calls.read('inventory', locationPath(request.params.locationId), LocationView)
    // A single-line field removes the line breaks of a name.
    const shown = value.name.replaceAll(/[\r\n]/g, '')
    return sendPage(request, reply, locationPage(value, { proof }, { id: value.id, etag, shown }))
  })

  app.post('/locations/:locationId', { schema: { params: Params, body: ChangeBody } }, async (request, reply) =>
    changeLocation({ request, reply }, request.params.locationId, request.body),
  )
}

async function changeLocation(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  id: number,
  { code, name, active, etag, shown = '', _key: key }: ChangeBody,
): Promise<FastifyReply> {
  const { calls } = visitOf(request)
  const fields = { code, name, active }
  const change = {
    service: 'inventory',
    method: 'PATCH',
    path: locationPath(id),
    body: name !== '' && name === shown ? { code, active } : fields,
    key,
    ifMatch: etag,
  } as const
  const outcome = await calls.change(change)
  if (outcome.kind === 'done') return answerDone(request, reply, { path: '/locations', toast: `${code} is saved` })
  const asked = askedAgain(request, outcome)
  return sendPage(request, reply, locationPage(fields, asked, { id, etag, shown }), asked.status)
}
