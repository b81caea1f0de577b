"""Labels where they decide: drafts, the page of the review, failure modes, and proof from few labels."""

REVIEW = "review.json"  # the settings, which every folder of a review has
SUFFIX = ".review"
