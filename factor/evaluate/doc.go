// Package evaluate compares factorisations of a matrix by the entries that were held out of it, with baselines beside
// them and intervals of confidence.
//
// # Metrics
//
// Of a user (a row) with the T columns of the test store that are relevant, and a list of the K best columns that the
// user has no entry in, hits are the relevant ones in the list. Relevance is 0 or 1: by Options.Relevant or, without, every
// entry of the test store is relevant. A value is the mean over the users who have entries in both stores.
//
//	recall@K     hits / min(K, T)
//	precision@K  hits / K
//	ndcg@K       Σ_{hit at place i} 1/log2(i+1)  /  Σ_{i=1}^{min(K, T)} 1/log2(i+1)
//	map@K        Σ_{hit at place i} (hits in the first i)/i  /  min(K, T)
//	coverage@K   columns in the lists of any user / columns; coverage is that of the longest K
//	rmse, mae    root of the mean square, and mean, of |value − prediction| over all entries of the test store
//
// recall@K and ndcg@K are those of Liang, Krishnan, Hoffman and Jebara, "Variational Autoencoders for Collaborative
// Filtering", WWW 2018: a list that is filled with relevant columns has the recall 1 however many there are. Others
// divide the hits by T, which is smaller for users with more than K. ndcg is of Järvelin and Kekäläinen, "Cumulated
// gain-based evaluation of IR techniques", ACM TOIS 20 (2002). Relevant columns that no user has in the training store
// count in T: no model can find them.
//
// # Baselines
//
// popularity recommends the columns with the most entries. mean predicts the mean μ of all entries, biases
//
//	μ + b_j + b_i,   b_j = Σ_i (a_ij − μ) / (n_j + D),   b_i = Σ_j (a_ij − μ − b_j) / (n_i + D)
//
// over the observed entries, with the damping D = 5 (Koren, "Factorization meets the neighborhood", KDD 2008, has the
// form). Ratings are predicted by models without a view, as elements of U·Σ·Vᵀ, and by those of a view that is one step
// bias, as those with the biases of that step added. Models of other views are of matrices that are no ratings.
//
// # Intervals
//
// Low and High enclose 95 % of the values of 400 Poisson bootstrap replicates over users: in each, a user counts as often as
// a Poisson variable of mean 1 says, which is a function of the seed, the replicate and the number of the user.
// (Hanley and MacGibbon, "Creating non-parametric bootstrap samples using Poisson frequencies", Computer Methods and
// Programs in Biomedicine 83, 2006.) The replicates of all models have the same users, so that differences are paired.
//
// # Other programs
//
// A List is judged by the users that the models are judged by; a user it lacks has an empty list. A column that the
// user has an entry in is no hit. Vectors score and predict by their inner products.
// Ids that the training store does not have are errors.
//
// # Strong generalisation
//
// With Options.Users a share of the users, chosen by a function of the seed and their number, is no part of the
// matrix that is factorised. They are folded in by their entries of the training store, and the lists and predictions
// of them alone are judged. Without a test store a fifth of their entries, chosen by a function of the seed and their
// place, are those to judge by, and the others those to fold in by, as in Liang et al. 2018.
package evaluate
