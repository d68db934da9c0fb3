// The bill of materials of a release: CycloneDX 1.5, of the packages whose code a build carries and of nothing else. npm's
// own (`npm sbom`) knows what is installed, and production installs nothing.
import { createHash } from 'node:crypto'

/** The bill as an object, for `version` of Laneway and what its build carries (see carried.mjs). */
export function billOf(version, carried) {
  const components = carried.map(({ name, version, license, integrity }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const [algorithm, digest] = integrity.split('-', 2)
    return {
      type: 'library',
      'bom-ref': purl,
      name,
      version,
      purl,
      scope: 'required',
      hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
      ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    }
  })
  const ours = `pkg:npm/laneway@${version}`
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    // Two bills of one build are the same.
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([version, components]))}`,
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': ours, name: 'laneway', version, purl: ours } },
    components,
    dependencies: [{ ref: ours, dependsOn: components.map((each) => each['bom-ref']) }],
  }
}

/** A UUID of version 8 made from a text. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
