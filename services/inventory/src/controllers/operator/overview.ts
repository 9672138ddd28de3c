import { askHealth } from '@trestle/common/lifecycle/readiness.ts'
import { pingDatabase } from '@trestle/database/connect.ts'
import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { readIfAvailable } from '@trestle/service/read-if-available.ts'
import { z } from 'zod'
import { countInventory, OverviewView } from '../../operators/overview-repository.ts'
import { operatorGuardsFor } from '../../plugins/authorize.ts'
import { OperatorController } from '../../plugins/inventory-controller.ts'
import { outage, recordBody, recordEnvelope } from '../../requests/answers.ts'
import { LOW_STOCK, QUANTITY_MAX } from '../../stock/level.ts'

/** Shows counts and health for a console's first page (console reference: Routes of inventory). */
export class Default extends OperatorController {
  static override use = operatorGuardsFor({ GET: 'overview.read' })

  static GET = accepts({
    keywords: z.object({
      below: p
        .int({ min: 0, max: QUANTITY_MAX })
        .default(LOW_STOCK)
        .meta({ description: 'Less available than this is low' }),
    }),
    returns: recordEnvelope(OverviewView, 200),
    responses: outage,
    summary: 'Show counts and health',
    tags: ['operators'],
  })
  async GET(...[{ below }]: Args<typeof Default.GET>): Promise<RawJson> {
    const { names, db, jobs } = this.application.context
    const [counts, database, queue] = await Promise.all([
      readIfAvailable(() => this.readLagging((lagging) => countInventory(lagging, names, below))),
      askHealth(() => pingDatabase(db), 'does not answer'),
      askHealth(() => jobs.check(), 'does not work on jobs'),
    ])
    return recordBody(200, JSON.stringify({ ...counts, health: { database, queue } }))
  }
}
