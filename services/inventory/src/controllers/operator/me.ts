import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { operatorView } from '@trestle/operators/operator-routes.ts'
import { z } from 'zod'
import { operatorGuardsFor } from '../../plugins/authorize.ts'
import { OperatorController } from '../../plugins/inventory-controller.ts'
import { outage, recordBody, recordEnvelope } from '../../requests/answers.ts'

const OperatorView = operatorView('The user of auth who acts, with their console role')

/** Shows the operator of the request (console reference: Who one is). */
export class Default extends OperatorController {
  static override use = operatorGuardsFor({ GET: 'operators.identify' })

  static GET = accepts({
    returns: recordEnvelope(z.object({ operator: OperatorView }), 200),
    responses: outage,
    summary: 'Tell an operator who they are',
    tags: ['operators'],
  })
  GET(..._: Args<typeof Default.GET>): RawJson {
    const { key, role, actor } = this.operator
    return recordBody(200, JSON.stringify({ operator: { key, role, actor } }))
  }
}
