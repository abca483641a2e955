/**
 * The button at the end of a longer list: doubles the rows, up to the limit of one API response.
 */
const MOST = 1_000

interface ShowMoreProps {
  readonly limit: number
  readonly onLimit: (limit: number) => void
}

export const ShowMore = ({ limit, onLimit }: ShowMoreProps) => (
  <div class="more">
    {limit < MOST ? (
      <button type="button" class="button" onClick={() => onLimit(Math.min(MOST, limit * 2))}>
        Show more
      </button>
    ) : (
      <p class="quiet">The first 1,000 are shown; the API lists the others.</p>
    )}
  </div>
)
