// Files as rows, and what can be done with those that are chosen.
import { useState } from 'preact/hooks'
import type { FileJson, FolderJson } from '../../../producer/api/gallery/routes.ts'
import { bytesText, counted } from '../../logic/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { say, sayRefusal } from '../../parts/notices.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, When } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'
import { may } from '../../state/session.ts'
import { GALLERY } from './lists.ts'

/** The path alone: the page may be open under another name of the same server. */
const pathOf = (url: string): string => new URL(url, location.origin).pathname

/** The table; chosen files are moved or thrown away together. */
export function FileTable({
  files,
  folders,
  inTrash,
  chosen,
  onChoose,
  onChange,
}: {
  files: readonly FileJson[]
  folders: readonly FolderJson[]
  inTrash: boolean
  chosen: ReadonlySet<number>
  onChoose: (chosen: ReadonlySet<number>) => void
  onChange: () => void
}) {
  const [asked, setAsked] = useState<'move' | 'trash'>()
  const flip = (id: number): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    onChoose(next)
  }
  const restore = async (file: FileJson): Promise<void> => {
    try {
      await call('POST', `${GALLERY}/files/${file.id}/restore`)
      say(`${file.name} is back in its folder.`)
      onChange()
    } catch (error) {
      sayRefusal(error)
    }
  }
  const mayChange = may('gallery')
  const picked = files.filter(({ id }) => chosen.has(id))
  return (
    <>
      {!inTrash && mayChange && (
        <div class="actions">
          <button type="button" disabled={picked.length === 0} onClick={() => setAsked('move')}>
            Move {picked.length > 0 && counted(picked.length, 'file')}
          </button>
          <button type="button" disabled={picked.length === 0} onClick={() => setAsked('trash')}>
            Delete {picked.length > 0 && counted(picked.length, 'file')}
          </button>
        </div>
      )}
      <Table
        cards
        caption="Files"
        rows={files}
        keyOf={({ id }) => id}
        columns={[
          ...(inTrash || !mayChange
            ? []
            : [
                {
                  title: 'Choose',
                  cell: ({ id, name }: FileJson) => (
                    <input
                      type="checkbox"
                      aria-label={`Choose ${name}`}
                      checked={chosen.has(id)}
                      onChange={() => flip(id)}
                    />
                  ),
                },
              ]),
          {
            title: 'File',
            head: true,
            cell: (file: FileJson) => (
              <span class="file">
                {file.type === 'image' && !inTrash && <img src={pathOf(file.url)} alt="" loading="lazy" />}
                {inTrash ? (
                  <Said text={file.name} />
                ) : (
                  <a href={pathOf(file.url)} target="_blank" rel="noreferrer">
                    <Said text={file.name} />
                  </a>
                )}
              </span>
            ),
          },
          { title: 'Size', number: true, cell: ({ size }: FileJson) => bytesText(size) },
          {
            title: 'Can be sent',
            cell: (file: FileJson) => (
              <>
                <Badge tone={file.is_chatapp_compatible ? 'good' : 'wait'}>
                  {file.is_chatapp_compatible ? 'yes' : 'no'}
                </Badge>
                {!file.is_chatapp_compatible && (
                  <span class="reason">
                    <Said text={file.chatapp_compatibility_reason} />
                  </span>
                )}
              </>
            ),
          },
          { title: 'Uploaded', wide: true, cell: ({ uploaded_at }: FileJson) => <When at={uploaded_at} /> },
          {
            title: inTrash ? 'Restore' : 'Link',
            cell: (file: FileJson) =>
              inTrash ? (
                mayChange && (
                  <button type="button" aria-label={`Restore ${file.name}`} onClick={() => void restore(file)}>
                    Restore
                  </button>
                )
              ) : (
                <Copy what={`link to ${file.name}`} text={file.url} />
              ),
          },
        ]}
      />
      {asked === 'move' && (
        <Move files={picked} folders={folders} onDone={onChange} onClose={() => setAsked(undefined)} />
      )}
      {asked === 'trash' && <Trash files={picked} onDone={onChange} onClose={() => setAsked(undefined)} />}
    </>
  )
}

const Names = ({ files }: { files: readonly FileJson[] }) => (
  <ul>
    {files.slice(0, 8).map(({ id, name }) => (
      <li key={id}>
        <Said text={name} />
      </li>
    ))}
    {files.length > 8 && <li>and {files.length - 8} more</li>}
  </ul>
)

interface Props {
  files: readonly FileJson[]
  onDone: () => void
  onClose: () => void
}

function Move({ files, folders, onDone, onClose }: Props & { folders: readonly FolderJson[] }) {
  const others = folders.filter(({ id }) => files.some(({ folder_id }) => folder_id !== id))
  const [folder, setFolder] = useState(String(others[0]?.id ?? ''))
  const act = async (): Promise<void> => {
    const body = { file_ids: files.map(({ id }) => id), folder_id: Number(folder) }
    const { message } = await call<{ message: string }>('POST', `${GALLERY}/files/bulk-move`, { body })
    say(message)
    onClose()
    onDone()
  }
  return (
    <Confirm
      title={`Move ${counted(files.length, 'file')}`}
      verb="Move"
      ready={folder !== ''}
      act={act}
      onClose={onClose}
    >
      <Names files={files} />
      <Choice
        label="To the folder"
        value={folder}
        onValue={setFolder}
        options={others.map(({ id, name }) => [String(id), name] as const)}
      />
      <p>Links to them stay the same.</p>
    </Confirm>
  )
}

function Trash({ files, onDone, onClose }: Props) {
  const act = async (): Promise<void> => {
    for (const { id } of files) await call('DELETE', `${GALLERY}/files/${id}`)
    say(`${counted(files.length, 'file')} moved to the trash.`)
    onClose()
    onDone()
  }
  return (
    <Confirm
      title={`Delete ${counted(files.length, 'file')}`}
      verb="Move to the trash"
      danger
      act={act}
      onClose={onClose}
    >
      <Names files={files} />
      <p>They can be restored from the trash. Messages that still have to fetch them would fail.</p>
    </Confirm>
  )
}
