import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { requireAction } from '@trestle/operators/operator-routes.ts'
import type { z } from 'zod'
import { callerOf, findOperator } from '../access/actor.ts'
import { movementNotFound, operatorForbidden } from '../errors.ts'
import {
  actionOf,
  ListedMovementView,
  MOVEMENT_TYPES,
  MovedView,
  MovementView,
  movementJson,
} from '../movements/movement.ts'
import { MovementBody } from '../movements/movement-body.ts'
import { findMovement, listMovements } from '../movements/movement-repository.ts'

import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { idempotent, listBody, listEnvelope, outage, recordBody, recordEnvelope } from '../requests/answers.ts'
import { FreeText, LocationId, PageKeywords, ProductId, RecordId } from '../requests/fields.ts'
import { PLACE_INCLUDES } from '../stock/level.ts'
import { listNamed } from '../stock/level-repository.ts'
import { moveStock } from '../use-cases/move-stock.ts'

const ListKeywords = PageKeywords.extend({
  productId: ProductId.optional(),
  locationId: LocationId.optional(),
  type: p
    .oneOf(...MOVEMENT_TYPES)
    .optional()
    .meta({ description: 'Only movements of this type' }),
  reference: FreeText.optional().meta({ description: 'Only movements with this reference' }),
  include: p
    .oneOf(...PLACE_INCLUDES)
    .optional()
    .meta({ description: 'names adds the SKU of the product and the code of the location' }),
  from: p.date().optional().meta({ description: 'Only movements since this time' }),
  to: p.date().optional().meta({ description: 'Only movements before this time' }),
})

export class Default extends InventoryController {
  static override use = guardsFor({ GET: 'stock.read', POST: 'stock.receive' })

  static GET = [
    accepts({
      keywords: ListKeywords,
      returns: listEnvelope(ListedMovementView),
      responses: outage,
      summary: 'List movements',
      description: 'Newest first.',
    }),
    accepts({
      path: [RecordId.meta({ description: 'The id of a row of the ledger' })],
      names: ['movementId'],
      returns: recordEnvelope(MovementView, 200),
      responses: outage,
      summary: 'Get a movement',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(args[0])
  }

  static POST = accepts({
    keywords: MovementBody,
    status: 201,
    returns: recordEnvelope(MovedView, 201),
    responses: {
      404: 'A product or location of a line does not exist',
      409: 'Not enough stock, another quantity than expected, or the location is inactive',
      ...idempotent,
    },
    summary: 'Move stock',
    description: 'One movement, or up to 100 movements in `lines`. Lines are carried out in their order, all or none.',
  })
  async POST(...[lines]: Args<typeof Default.POST>): Promise<RawJson> {
    const operator = findOperator(this.request)
    if (operator) requireAction(operator.role, actionOf(lines), operatorForbidden)
    const caller = callerOf(this.request, '/movements', lines)
    const { verdict, body } = await this.changeWithSlot('stockWrites', (audited) =>
      moveStock(this.application.context, { caller, lines, ...audited }),
    )
    this.logOrMarkReplayed(verdict, { event: 'stock.moved', movement_ids: body.ids })
    this.response.headers.set('location', `/movements/${body.id}`)
    return recordBody(201, JSON.stringify(body))
  }

  async #list({ limit, cursor, include, ...filters }: z.output<typeof ListKeywords>): Promise<RawJson> {
    const { config: limits } = this.application.context
    const wanted = { path: '/movements', selection: JSON.stringify(filters), keywords: { limit, cursor }, limits }
    const rows = await this.readPageById(wanted, (behind) =>
      this.readLagging(async (db) => {
        const movements = await listMovements(db, filters, behind)
        return include === undefined ? movements : listNamed(db, movements)
      }),
    )
    return listBody(rows.map(movementJson))
  }

  async #find(id: number): Promise<RawJson> {
    const movement = await findMovement(this.application.context.pools, id)
    if (!movement) throw movementNotFound()
    return recordBody(200, movementJson(movement))
  }
}
