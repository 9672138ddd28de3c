import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { actorOf, callerOf } from '../access/actor.ts'
import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import {
  idempotent,
  listBody,
  listEnvelope,
  outage,
  recordBody,
  recordEnvelope,
  withBody,
} from '../requests/answers.ts'
import { FreeText, LocationId, PageKeywords, ProductId, ReservationId } from '../requests/fields.ts'
import {
  LIFE_SECONDS_MAX,
  ListedReservationView,
  RESERVATION_STATUSES,
  ReservationView,
  requireReservation,
} from '../reservations/reservation.ts'
import { findReservation, listReservations } from '../reservations/reservation-repository.ts'
import { PLACE_INCLUDES, QUANTITY_MAX } from '../stock/level.ts'
import { listNamed } from '../stock/level-repository.ts'
import { releaseReservation, reserveStock } from '../use-cases/reserve-stock.ts'

const Quantity = p.int({ min: 1, max: QUANTITY_MAX }).meta({ description: 'How much to reserve' })

const ListKeywords = PageKeywords.extend({
  productId: ProductId.optional(),
  locationId: LocationId.optional(),
  status: p
    .oneOf(...RESERVATION_STATUSES)
    .optional()
    .meta({ description: 'Only reservations in this state' }),
  reference: FreeText.optional().meta({ description: 'Only reservations with this reference' }),
  include: p
    .oneOf(...PLACE_INCLUDES)
    .optional()
    .meta({ description: 'names adds the SKU of the product and the code of the location' }),
})

const ReservationBody = z.object({
  productId: ProductId,
  locationId: LocationId,
  quantity: Quantity,
  expiresInSeconds: p
    .int({ min: 1, max: LIFE_SECONDS_MAX })
    .optional()
    .meta({ description: 'The reservation expires after this time; without it, never' }),
  reference: FreeText.optional().meta({
    description: 'A document of the client, such as the number of an order, by which the reservation can be found',
  }),
})

export class Default extends InventoryController {
  static override use = guardsFor({ GET: 'stock.read', DELETE: 'reservations.release' })

  static GET = [
    accepts({
      keywords: ListKeywords,
      returns: listEnvelope(ListedReservationView),
      responses: outage,
      summary: 'List reservations',
    }),
    accepts({
      path: [ReservationId],
      names: ['reservationId'],
      returns: recordEnvelope(ReservationView, 200),
      responses: outage,
      summary: 'Get a reservation',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(args[0])
  }

  static POST = accepts({
    keywords: ReservationBody,
    status: 201,
    returns: recordEnvelope(ReservationView, 201),
    responses: {
      404: 'The product or location does not exist',
      409: 'Not enough stock is available',
      ...idempotent,
    },
    summary: 'Reserve stock',
    description: 'A reservation is of one product. An order of several has one for each, with one reference.',
  })
  async POST(...[wanted]: Args<typeof Default.POST>): Promise<RawJson> {
    const caller = callerOf(this.request, '/reservations', wanted)
    const { verdict, body } = await this.writeWithSlot(() =>
      reserveStock(this.application.context, { caller, reservation: wanted }),
    )
    this.logOrMarkReplayed(verdict, { event: 'reservation.created', reservation_id: body.id })
    this.response.headers.set('location', `/reservations/${body.id}`)
    return recordBody(201, JSON.stringify(body))
  }

  static DELETE = accepts({
    path: [ReservationId],
    names: ['reservationId'],
    status: 204,
    responses: { 409: 'The reservation is committed or has expired', ...withBody },
    summary: 'Release a reservation',
  })
  async DELETE(...[id]: Args<typeof Default.DELETE>): Promise<void> {
    const actor = actorOf(this.request)
    const released = await this.changeWithSlot('stockWrites', (audited) =>
      releaseReservation(this.application.context, { actor, id, ...audited }),
    )
    if (released) this.addLogFields({ event: 'reservation.released', reservation_id: id })
  }

  async #list({ limit, cursor, include, ...filters }: z.output<typeof ListKeywords>): Promise<RawJson> {
    const { config: limits } = this.application.context
    const wanted = { path: '/reservations', selection: JSON.stringify(filters), keywords: { limit, cursor }, limits }
    const rows = await this.readPageById(wanted, (behind) =>
      this.readLagging(async (db) => {
        const reservations = await listReservations(db, filters, behind)
        return include === undefined ? reservations : listNamed(db, reservations)
      }),
    )
    return listBody(rows.map((reservation) => JSON.stringify(reservation)))
  }

  async #find(id: number): Promise<RawJson> {
    const reservation = requireReservation(await findReservation(this.application.context.pools, id))
    return recordBody(200, JSON.stringify(reservation))
  }
}
