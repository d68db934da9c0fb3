// Kannel as a contender: bearerbox with a spool store on disk and an HTTP SMSC that points at the sink, smsbox with the
// send request. Used when the Debian package is installed. It cannot be held back: suspended it leaves requests without
// an answer, and with its SMSC stopped it refuses them. So it sends while it accepts, as it does in daily use.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/testbed/free-port.ts'
import type { Closing } from './closing.ts'
import type { Contender, Rig } from './contender.ts'
import { endProcess, until } from './part.ts'

const INSTALL = 'sudo RUNLEVEL=1 apt-get install -y --no-install-recommends kannel'

/** Starts Kannel; undefined, with a line on how to get it, when it is not installed. */
export async function startKannel(
  rig: Rig,
  dir: string,
  closing: Closing,
  say: (line: string) => void,
): Promise<Contender | undefined> {
  if (spawnSync('bearerbox', ['--version']).error) {
    say(`  Kannel is not installed and left out; it comes with: ${INSTALL}`)
    return undefined
  }
  const spool = join(dir, 'spool')
  mkdirSync(spool, { recursive: true })
  const [admin, boxes, port] = [await freePort(), await freePort(), await freePort()]
  const config = join(dir, 'kannel.conf')
  writeFileSync(config, configuration({ spool, admin, boxes, port, sink: rig.sinkPort }))
  const pids: number[] = []
  for (const program of ['bearerbox', 'smsbox']) {
    const child = spawn(program, ['--verbosity', '4', config], { cwd: dir, stdio: 'ignore' })
    pids.push(child.pid ?? 0)
    closing.add(() => endProcess(child))
    if (program === 'bearerbox') await until('bearerbox answers', 20_000, () => answers(admin))
  }
  const path = '/cgi-bin/sendsms?username=bench&password=bench'
  await until('smsbox answers', 20_000, async () => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return answer.status < 500
  })
  return {
    name: 'Kannel',
    port,
    traffic: { kind: 'kannel', path },
    acceptPids: pids,
    sendPids: pids,
    hold: async () => {},
    release: async () => {},
  }
}

async function answers(adminPort: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${adminPort}/status.txt?password=bench`)).ok
}

function configuration(at: { spool: string; admin: number; boxes: number; port: number; sink: number }): string {
  return `group = core
admin-port = ${at.admin}
admin-interface = 127.0.0.1
admin-password = bench
smsbox-port = ${at.boxes}
smsbox-interface = 127.0.0.1
box-deny-ip = ""
store-type = spool
store-location = ${at.spool}
log-level = 4

group = smsc
smsc = http
smsc-id = sink
system-type = generic
send-url = "http://127.0.0.1:${at.sink}/send?to=%p&text=%b"
status-success-regex = "200"
port = 0
max-pending-submits = 100

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${at.port}
sendsms-interface = 127.0.0.1
log-level = 4

group = sendsms-user
username = bench
password = bench
max-messages = 10
faked-sender = 49301000000
`
}
