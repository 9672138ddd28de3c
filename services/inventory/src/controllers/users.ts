import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { findUser, listUsers, USER_PAGES, UserView, userJson } from '../access/user-repository.ts'
import { userNotFound } from '../errors.ts'

import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { listBody, listEnvelope, outage, recordBody, recordEnvelope } from '../requests/answers.ts'
import { PageKeywords, RecordId } from '../requests/fields.ts'

export class Default extends InventoryController {
  static override use = guardsFor({})

  static GET = [
    accepts({
      keywords: PageKeywords,
      returns: listEnvelope(UserView),
      responses: outage,
      summary: 'List users',
    }),
    accepts({
      path: [RecordId.meta({ description: 'The id of a user' })],
      names: ['userId'],
      returns: recordEnvelope(UserView, 200),
      responses: outage,
      summary: 'Get a user',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(args[0])
  }

  async #list(keywords: PageKeywords): Promise<RawJson> {
    const { pools } = this.application.context
    const rows = await this.readPageById({ path: '/users', keywords, limits: USER_PAGES }, ({ after, limit }) =>
      this.withListSlot(() => listUsers(pools, { afterId: after, limit })),
    )
    return listBody(rows.map(userJson))
  }

  async #find(id: number): Promise<RawJson> {
    const user = await findUser(this.application.context.pools, id)
    if (!user) throw userNotFound()
    return recordBody(200, userJson(user))
  }
}
