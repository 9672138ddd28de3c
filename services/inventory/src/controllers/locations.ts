import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import type { z } from 'zod'
import { callerOf } from '../access/actor.ts'
import { LocationCreatedView, LocationView, locationJson, requireLocation } from '../locations/location.ts'
import { LocationBody, LocationCode, LocationPatch } from '../locations/location-body.ts'
import { findLocation, listLocations } from '../locations/location-repository.ts'

import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import {
  idempotent,
  listBody,
  listEnvelope,
  locationTag,
  outage,
  recordBody,
  recordEnvelope,
  withBody,
} from '../requests/answers.ts'
import { LocationId, PageKeywords } from '../requests/fields.ts'
import { changeLocation, createLocation, deleteLocation } from '../use-cases/change-locations.ts'

const changeResponses = {
  412: 'The location has another version than If-Match names',
  428: 'If-Match is missing, where the service demands it',
  ...withBody,
} as const
const codeTaken = { 409: 'Another location has this code' } as const

const ListKeywords = PageKeywords.extend({
  code: LocationCode.optional().meta({
    description: 'Only the location with this code, none when there is no such location',
  }),
})

export class Default extends InventoryController {
  static override use = guardsFor({
    GET: 'stock.read',
    POST: 'locations.change',
    PATCH: 'locations.change',
    DELETE: 'locations.change',
  })

  static GET = [
    accepts({
      keywords: ListKeywords,
      returns: listEnvelope(LocationView),
      responses: outage,
      summary: 'List locations',
    }),
    accepts({
      path: [LocationId],
      names: ['locationId'],
      returns: recordEnvelope(LocationView, 200),
      responses: { 304: 'Not changed since the version that If-None-Match names', ...outage },
      summary: 'Get a location',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson | undefined> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(args[0])
  }

  static POST = accepts({
    keywords: LocationBody,
    status: 201,
    returns: recordEnvelope(LocationCreatedView, 201),
    responses: { ...codeTaken, ...idempotent },
    summary: 'Create a location',
  })
  async POST(...[location]: Args<typeof Default.POST>): Promise<RawJson> {
    const caller = callerOf(this.request, '/locations', location)
    const { verdict, body } = await this.changeWithSlot('stockWrites', (audited) =>
      createLocation(this.application.context, { caller, location, ...audited }),
    )
    this.logOrMarkReplayed(verdict, { event: 'location.created', location_id: body.id })
    this.response.headers.set('location', `/locations/${body.id}`)
    this.response.headers.set('etag', locationTag(body.id, 1))
    return recordBody(201, JSON.stringify({ ...body, message: `Location ${body.id} was created.` }))
  }

  static PATCH = accepts({
    path: [LocationId],
    names: ['locationId'],
    keywords: LocationPatch,
    returns: recordEnvelope(LocationView, 200),
    responses: { ...codeTaken, ...changeResponses },
    summary: 'Change a location',
  })
  async PATCH(...[id, fields]: Args<typeof Default.PATCH>): Promise<RawJson> {
    const target = { id, versions: this.versionsOf('l', id) }
    const location = await this.changeWithSlot('stockWrites', (audited) =>
      changeLocation(this.application.context, { target, fields, ...audited }),
    )
    this.addLogFields({ event: 'location.updated', location_id: id, version: location.version })
    this.response.headers.set('etag', locationTag(id, location.version))
    return recordBody(200, locationJson(location))
  }

  static DELETE = accepts({
    path: [LocationId],
    names: ['locationId'],
    status: 204,
    responses: { 409: 'The location still has stock', ...changeResponses },
    summary: 'Delete a location',
  })
  async DELETE(...[id]: Args<typeof Default.DELETE>): Promise<void> {
    const target = { id, versions: this.versionsOf('l', id) }
    await this.changeWithSlot('stockWrites', (audited) =>
      deleteLocation(this.application.context, { target, ...audited }),
    )
    this.addLogFields({ event: 'location.deleted', location_id: id })
  }

  async #list({ code, ...keywords }: z.output<typeof ListKeywords>): Promise<RawJson> {
    const { pools, config: limits } = this.application.context
    const rows = await this.readPageById(
      { path: '/locations', selection: code, keywords, limits },
      ({ after, limit }) => this.withListSlot(() => listLocations(pools, { code }, { afterId: after, limit })),
    )
    return listBody(rows.map(locationJson))
  }

  async #find(id: number): Promise<RawJson | undefined> {
    const location = requireLocation(await findLocation(this.application.context.pools, id))
    return this.answerUnlessKnown(locationTag(id, location.version), locationJson(location))
  }
}
