import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { findUser, listUsers, USER_PAGES, UserView, userJson } from '../access/user-repository.ts'
import { userNotFound } from '../errors.ts'
import { cutPage } from '../pagination/cut-page.ts'
import { listingById, PageKeywords, positionById, readPage } from '../pagination/page-query.ts'
import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { listBody, listEnvelope, recordBody, recordEnvelope } from '../requests/envelope.ts'
import { RecordId } from '../requests/record-id.ts'
import { outage } from '../requests/responses.ts'

/** /users, /users/{userId}: the users that the database has. */
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
    const listing = listingById('/users')
    const { limit, after } = readPage(listing, USER_PAGES, keywords)
    const bounds = { afterId: Number(after?.[0] ?? 0), limit: limit + 1 }
    const found = await this.inListTurn(() => listUsers(this.application.context.lanes, bounds))
    const { rows, link } = cutPage(listing, { limit, query: this.request.query }, found, positionById)
    this.response.headers.set('link', link)
    return listBody(rows.map(userJson))
  }

  async #find(id: number): Promise<RawJson> {
    const user = await findUser(this.application.context.lanes, id)
    if (!user) throw userNotFound()
    return recordBody(200, userJson(user))
  }
}
