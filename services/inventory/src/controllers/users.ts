import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { userNotFound } from '../errors.ts'
import { RecordId } from '../http/record-id.ts'
import { outage } from '../http/responses.ts'
import { listBody, listEnvelope, recordBody, recordEnvelope } from '../list-envelope.ts'
import { cutPage, listingById, PageKeywords, positionById, readPage } from '../paging/page-query.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { findUser, listUsers } from '../users/user-repository.ts'
import { UserView, userJson } from '../users/user-view.ts'

const LIMITS = { defaultLimit: 500, maxLimit: 500 } as const

/** /users, /users/{userId} */
export class Default extends InventoryController {
  static GET = [
    accepts({
      keywords: PageKeywords,
      returns: listEnvelope(UserView),
      responses: outage,
      summary: 'List users by id',
    }),
    accepts({
      path: [RecordId],
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
    const { limit, after } = readPage(listing, LIMITS, keywords)
    const found = await this.readInTurn(() =>
      listUsers(this.application.context.lanes, Number(after?.[0] ?? 0), limit + 1),
    )
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
