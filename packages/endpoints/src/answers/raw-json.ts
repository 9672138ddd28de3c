/** JSON text that is sent unchanged. For example, JSON from a database reaches the client with every digit. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
