/** The client, audience and redirect of a request, as use cases need them. */
export interface RequestContext {
  /** The audience of new users and of searches for users. */
  readonly audience: string
  /** The client address for limits and the audit log. Empty if it is unknown. */
  readonly ip: string
  /** The client's key for the limits. If it is `undefined`, the client is not limited. */
  readonly limitKey: string | undefined
  /** The network by which a user may be recognised. `undefined` if all clients may share it. */
  readonly network: string | undefined
  readonly userAgent: string
  /** The URL at which the flow ends. The redirect rules have allowed it already. */
  readonly redirectTo: string
  /** The base URL of links in mails. */
  readonly linkBase: string
}
